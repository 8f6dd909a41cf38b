import pytest

from hamiltone.paper import attention_tables as tables


def test_tables_4_10_and_11_tell_the_same_agreement(study):
    overall = tables.table4(study).find("agreement in %", "overall").ours
    assert tables.table10(study).find("agreement in %", "overall").ours == pytest.approx(overall)
    eleven = tables.table11(study)
    assert eleven.find("top-1", "agreement in %").ours == pytest.approx(overall)
    ratio = overall / eleven.find("top-1", "chance in %").ours
    assert eleven.find("top-1", "times chance").ours == pytest.approx(ratio)


def test_table_10_keeps_the_heads_that_our_model_lacks(study):
    rows = {row.quantity: row for row in tables.table10(study).rows}
    assert rows["time_layers.0.head0"].ours is not None and rows["time_layers.0.head0"].paper == 0.35
    assert rows["freq_layers.1.head3"].ours is None and rows["freq_layers.1.head3"].note


def test_table_5_has_ours_in_speech_alone(study):
    measured = {row.group for row in tables.table5(study).rows if row.ours is not None}
    assert measured == {"Speech (DNS-3, QTransformer)"}


def test_table_7_compares_the_ratio(study):
    result = tables.table7(study)
    ratio, total = result.find("ratio", "shared to the sum"), result.find("norm", "sum of the four")
    assert ratio.paper == pytest.approx(0.88, abs=0.005)
    assert ratio.ours == pytest.approx(result.find("norm", "shared").ours / total.ours)


def test_table_8_starts_both_ways_and_has_every_layer(study):
    groups = [row.group for row in tables.table8(study).rows]
    assert groups.count("after training") == 7 and groups.count("after, by layer") == 2
    assert {"before, new weights", "before, one set of weights"} <= set(groups)
