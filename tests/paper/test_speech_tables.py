from hamiltone.paper import speech_tables


def test_table_3_measures_the_cpu_and_keeps_what_it_cannot(study, one_round, monkeypatch):
    monkeypatch.setattr(speech_tables, "_SECONDS", {True: 0.1})
    result = speech_tables.table3(study)
    shared, hamilton = (result.find(f"QConformer, {rule}", "cpu rtf") for rule in ("shared", "Hamilton"))
    assert (shared.paper, hamilton.paper) == (0.259, 0.610) and shared.ours > 0
    assert result.find("qconformer: CPU", "speed-up").ours == hamilton.ours / shared.ours
    assert result.find("qconformer: GPU", "reduction in %").ours is None
    assert 0 < result.find("qconformer: MACs", "reduction in %").ours < 50
    assert abs(result.find("Real-valued Conformer", "params").difference) < 0.005
    assert result.find("Noisy", "ovrl").ours is None and result.command
