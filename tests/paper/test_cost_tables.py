from hamiltone.paper import cost_tables


def test_table_9_has_equal_macs_and_a_speed_up_for_each_length(study, one_round, monkeypatch):
    monkeypatch.setattr(cost_tables, "LENGTHS", (512,))
    result = cost_tables.table9(study)
    macs = [row for row in result.rows if row.quantity.endswith("MACs")]
    assert [row.ours for row in macs] == [134_217_728, 335_544_320]
    assert all(row.note == "equal in every printed digit" for row in macs)
    shared, hamilton = (result.find("T = 512", f"{name} ms").ours for name in ("shared", "hamilton"))
    assert result.find("T = 512", "speed-up").ours == hamilton / shared


def test_table_6_says_what_the_paper_leaves_open(study):
    result = cost_tables.table6(study)
    assert result.find("setting", "d_model").ours == 32 and result.find("setting", "heads").paper is None
