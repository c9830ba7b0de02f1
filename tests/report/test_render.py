"""The renderer: decimals, layout of text, valid HTML and LaTeX."""

import re
from html.parser import HTMLParser
from io import StringIO

import numpy as np
import pandas as pd
import pytest
from statsmodels.iolib.summary import Summary

from pyrjsel._errors import ParameterError
from pyrjsel.report import Report, covered_caption, texts
from pyrjsel.report.tables import coefficient_table, inclusion_table, model_table

NAN = float("nan")
AWKWARD = "C(race)[T.black_&_white]<b>%$#{x}^~\\"


@pytest.mark.parametrize(
    ("value", "error", "expected"),
    [
        (0.98765, 0.004, "0.988"),
        (0.98765, 0.04, "0.99"),
        (0.5, 0.3, "0.5"),
        (0.98765, 0.00001, "0.9877"),
        (0.98765, 0.0, "0.9877"),
        (0.00002, 0.0, "<0.0001"),
        (0.99998, 0.0, ">0.9999"),
        (0.0002, 0.003, "<0.001"),
        (0.0, 0.0, "0.0000"),
        (1.0, NAN, "1"),
        (0.0, NAN, "0"),
        (0.25, NAN, "0.2500"),
        (NAN, NAN, "–"),
    ],
)
def test_probabilities_follow_their_error(value, error, expected):
    assert texts.probability(value, error) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(262481609.3, "2.6e+08"), (9999999.0, "9999999"), (96.4, "96"), (np.inf, "inf"), (np.nan, "–")],
)
def test_effective_sizes_are_whole_numbers_that_can_be_read(value, expected):
    assert texts.effective(value) == expected


@pytest.mark.parametrize(
    ("value", "error", "expected"),
    [
        (1.0, 0.0, "1.00"),
        (12.3456, 0.0, "12.3"),
        (12.3456, 0.002, "12.35"),
        (12.3456, 5.0, "12"),
        (9.996, 0.0, "10.0"),
        (1234.6, 0.0, "1235"),
        (3.21e9, 0.0, "3.21e+09"),
        (0.0001, 0.0, "<0.001"),
        (0.0, 0.0, "0"),
        (np.inf, 0.0, "inf"),
        (NAN, 0.0, "–"),
    ],
)
def test_odds_have_significant_digits(value, error, expected):
    assert texts.ratio(value, error) == expected


@pytest.mark.parametrize(
    ("value", "error", "expected"),
    [(1.23456, 0.1, "1.235"), (-0.00012, 0.02, "-0.0001"), (1e6, 1e5, "1000000"), (2.0, NAN, "2.000")],
)
def test_coefficients_follow_their_spread(value, error, expected):
    assert texts.coefficient(value, error) == expected


def test_mcse_has_a_decimal_more():
    assert [texts.error_of_probability(e) for e in (0.04, 0.004, 0.00041, 0.00001, 0.0, NAN)] == [
        "0.040", "0.0040", "0.0004", "<0.0001", "0", "–",
    ]  # fmt: skip


@pytest.fixture
def report():
    names = ["age", AWKWARD, "a_name_far_longer_than_any_column_could_ever_be_expected_to_be_in_a_table"]
    inclusion = inclusion_table(
        names, 0.5, [0.9, 1.0, 0.123456], [0.004, NAN, 0.0], [900, NAN, NAN], [1.001, NAN, NAN], 1.0
    )
    many = tuple(f"term_{k}" for k in range(30))
    models = model_table(
        [many, (AWKWARD, "age"), ()], [30, 2, 0], 1.5, [0.5, 0.25, 0.125], 0.01, [1, 2, 4],
        [0, 0.1, 0.2], NAN, [100.0, 110.125, 120.0],
    )  # fmt: skip
    coefficients = coefficient_table([AWKWARD], 1.0, 0.5, 0.0, 2.0, 0.9, 1.1, 0.4)
    return Report(
        "Selection in a <logit> model & more",
        [("Formula", "y ~ " + " + ".join(many)), ("Rows", 100), ("Cost", "< 10 %"), ("A", 1), ("B_c", 2)],
        [("Inclusion", inclusion), (covered_caption(models, 3), models), ("Coefficients", coefficients)],
        ["A first note with 50 % & <tags>.", "A second note. " * 20],
    )


def test_is_a_statsmodels_summary(report):
    assert isinstance(report, Summary)
    assert str(report) == report.as_text()
    assert report._repr_html_() == report.as_html()
    assert report._repr_latex_() == report.as_latex()
    assert len(report.tables) == 3


def test_text_layout(report):
    lines = report.as_text().split("\n")
    # Other columns leave less than the least room for terms: a few characters above 100.
    assert max(len(line) for line in lines) <= 105
    assert all(line == line.rstrip() for line in lines)
    rules = {len(line) for line in lines if re.fullmatch("=+|-+", line)}
    assert rules == {max(len(line) for line in lines)}
    text = "\n".join(lines)
    assert "[1] A first note" in text
    assert "[2] A second note." in text
    assert "which hold 0.875 of the posterior mass" in text
    assert "(no terms)" in text
    row = next(line for line in lines if line.startswith("age "))
    # An error of 0.004 in 0.9 is one of 4 % in its odds.
    assert row.split() == ["age", "0.500", "0.900", "0.0040", "900", "1.001", "9.0", "1"]


def test_text_keeps_all_terms_whole_and_in_their_column(report):
    lines = report.as_text().split("\n")
    head = next(k for k, line in enumerate(lines) if line.startswith("rank"))
    column = lines[head].index("terms")
    stop = next(k for k in range(head, len(lines)) if lines[k].startswith("2 "))
    cells = [line[column:].strip() for line in lines[head + 2 : stop]]
    assert len(cells) > 3
    assert all(line[: column - 2].strip() == "" for line in lines[head + 3 : stop])
    assert " ".join(cells).split(" + ") == [f"term_{k}" for k in range(30)]
    assert not any(cell.startswith("+") for cell in cells)


def test_long_facts_keep_their_place():
    facts = [("Response", "y"), ("Rows", "9"), ("Prior", "long " * 21 + "end")]
    facts += [("Sampler", "gibbs"), ("Chains", "4"), ("Size", "2.5"), ("Time", "1 s")]
    lines = Report("T", facts, []).as_text().split("\n")[2:-1]
    assert lines == [
        "Response:  y",
        "Rows:      9",
        "Prior:  " + "long " * 17 + "long",
        "    long long long end",
        "Sampler:  gibbs    Size:  2.5",
        "Chains:   4        Time:  1 s",
    ]


def test_columns_without_any_value_are_not_shown(report):
    assert "log marg" not in report.as_text()
    assert "ESS" in report.as_text()


def test_decimal_points_stand_under_each_other():
    frame = pd.DataFrame({"posterior": [0.5, 0.25, 1.0], "mcse": [0.2, 0.0004, NAN]}, index=list("abc"))
    lines = [line for line in Report("T", [], [("", frame)]).as_text().split("\n") if line[:1] in "abc"]
    points = [line.index(".") for line in lines[:2]]
    assert points[0] == points[1]
    assert lines[2].index("1") == points[0] - 1


class Balance(HTMLParser):
    """Checks that every tag is closed in order and gathers the text of cells."""

    def __init__(self):
        super().__init__()
        self.open, self.cells, self.tags = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag != "br":
            self.open.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.cells[-1] += data


def test_html_parses_and_escapes(report):
    parser = Balance()
    parser.feed(report.as_html())
    parser.close()
    assert parser.open == []
    assert set(parser.tags) == {"table", "caption", "tr", "th", "td", "p", "ol", "li"}
    assert parser.cells.count(AWKWARD) == 2
    assert "0.900" in parser.cells
    assert " + ".join(f"term_{k}" for k in range(30)) in parser.cells


def test_html_aligns_words_on_the_left_and_numbers_on_the_right(report):
    """Notebooks align all cells on the right by themselves."""
    left = re.findall(r'<td style="text-align: left">([^<]*)</td>', report.as_html())
    assert "Formula" in left
    assert " + ".join(f"term_{k}" for k in range(30)) in left
    assert "age" in left
    assert "0.900" not in left
    assert "0.900" in re.findall(r"<td>([^<]*)</td>", report.as_html())


def test_latex_is_balanced_and_escaped(report):
    text = report.as_latex()
    stack = []
    for kind, name in re.findall(r"\\(begin|end)\{(\w+)\}", text):
        if kind == "begin":
            stack.append(name)
        else:
            assert stack.pop() == name
    assert stack == []
    assert text.count(r"\begin{tabular}") == 4
    bare = text.replace(r"\\", "").replace(r"\{", "").replace(r"\}", "")
    assert bare.count("{") == bare.count("}")
    for character in "%#$_":
        assert not re.search(r"(?<!\\)" + re.escape(character), bare)
    assert "~" not in text
    assert "<" not in text
    tabular = re.findall(r"\\begin\{tabular\}\{([^\n]*)\}\n(.*?)\\end\{tabular\}", text, flags=re.DOTALL)
    for aligns, body in tabular:
        columns = len(re.sub(r"p\{[^}]*\}", "p", aligns))
        rows = [line for line in body.split("\n") if line.endswith(r"\\")]
        assert rows
        assert all(len(re.findall(r"(?<!\\)&", row)) == columns - 1 for row in rows)


def test_csv_reads_back(report):
    block = report.as_csv().split("\n\n")[0].split("\n", 1)[1]
    back = pd.read_csv(StringIO(block), index_col=0)
    assert back.loc["age", "posterior"] == 0.9
    assert AWKWARD in back.index


def test_covered_caption_of_a_part():
    models = pd.DataFrame({"posterior": np.full(8, 0.1)})
    assert covered_caption(models, 3, "enumerated") == (
        "Models: the best 3 of 8 enumerated, which hold 0.300 of the posterior mass (all 8: 0.800)"
    )
    assert covered_caption(models, 8, "enumerated", 2**24) == (
        "Models: the best 8 of 16,777,216 enumerated, which hold 0.800 of the posterior mass"
    )


def test_empty_parts():
    frame = pd.DataFrame({"posterior": [], "mcse": []})
    for report in (Report("T", [], []), Report("T", [("a", 1)], []), Report("T", [], [("C", frame)])):
        assert report.as_text().startswith(" ")
        assert "T" in report.as_html()
        assert "T" in report.as_latex()
        assert isinstance(report.as_csv(), str)


def test_formats_of_columns_can_be_given():
    frame = pd.DataFrame({"share": [0.123456]}, index=["a"])
    assert "0.123456" in str(Report("T", [], [("", frame)]))
    assert "0.123\n" in str(Report("T", [], [("", frame, {"share": "fixed3"})]))
    with pytest.raises(ParameterError, match=r"formats\['share'\]"):
        Report("T", [], [("", frame, {"share": "fixed9"})])
    with pytest.raises(ParameterError, match="'tables' parameter of Report"):
        Report("T", [], [("", [1, 2])])


def test_added_text_is_kept(report):
    report.add_extra_txt(["More", "words"])
    assert str(report).endswith("\n\nMore\nwords")
    assert "More<br/>words" in report.as_html()


def test_errors_are_left_out_where_all_probabilities_are_exact():
    columns = {"posterior": [0.75, 0.25], "mcse": [0.0, 0.0], "odds": [1.0, 3.0], "odds_mcse": [0.0, 0.0]}
    exact = pd.DataFrame(columns)
    assert Report("Fit", [], [("Models", exact)], []).as_csv().splitlines()[1] == ",posterior,odds"
    sampled = exact.assign(mcse=[0.0, 0.01])
    assert Report("Fit", [], [("Models", sampled)], []).as_csv().splitlines()[1] == (
        ",posterior,MCSE,odds,odds MCSE"
    )
    assert list(exact.columns) == list(columns)  # the table itself keeps them


def test_prior_and_bayes_factor_have_the_digits_that_errors_leave():
    table = inclusion_table(
        list("abcd"), [0.25, 0.25, 0.25, 0.25], [0.5, 0.5, 0.5, 0.9], [0.0, 0.0, 0.02, 0.0], NAN, NAN, NAN,
        prior_mcse=[0.0, 0.005, 0.05, 0.1],
    )  # fmt: skip
    lines = Report("Fit", [], [("Inclusion", table)], []).as_csv().splitlines()
    assert lines[1] == ",prior,posterior,MCSE,Bayes factor"
    cells = [line.split(",") for line in lines[2:]]
    assert [row[1] for row in cells] == ["0.250", "0.250", "0.25", "0.2"]
    # Relative errors of odds: 0, 2.7 %, 28 %, 53 %.
    assert [row[4] for row in cells] == ["3.00", "3.0", "3", "–"]
