"""Templates that compute without end, without measure, or what nobody can print: each is refused soon."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest
from cases import cases

from conjury.inference.errors import InputError
from conjury.inference.requests.templates import Templates
from conjury.inference.study.asking import LabelLevel

STARTS = {"TWO": "2", "TEXT": r"'abc def\n'", "LIST": "[1]"}
BIG = "{% set s = 'x' * 9000000 %}"


def template(start: str, text: str) -> str:
    """Write a template whole, or from the start and the step of its loop."""
    if not start:
        return text.replace("BIG", BIG)
    loop = f"{{% for i in range(60) %}}{text}{{% endfor %}}{{{{ ns.x }}}}"
    return f"{{% set ns = namespace(x={STARTS[start]}) %}}{loop}"


LITERAL = "{% set x %}{% for i in range(90000) %}TEXT{% endfor %}{% endset %}"
TEMPLATES = {
    "numbers: a long literal": "{{ 1" + "9" * 5_000 + " }}",
    "texts: literal text": LITERAL.replace("TEXT", "y" * 20_000),
    **{f"{kind}: {name}": template(*rest) for kind, name, *rest in cases(__file__, "endless")},
}
FILL = """
import resource, sys
from pathlib import Path
from conjury.inference.errors import InputError
from conjury.inference.requests.templates import Templates
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[2]), int(sys.argv[2])))
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
try:
    print("filled", len(Templates(Path(sys.argv[1])).render("a.j2", {})))
except InputError as error:
    print("refused", error)
"""


def fill(folder: Path, text: str) -> str:
    (folder / "a.j2").write_text(text, encoding="utf-8")
    return Templates(folder).render("a.j2", {})


@pytest.mark.slow
@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in TEMPLATES.items()])
def test_no_template_takes_more_than_its_time_and_memory(text, tmp_path):
    (tmp_path / "a.j2").write_text(text, encoding="utf-8")
    command = [sys.executable, "-c", FILL, str(tmp_path), str(3 * 2**30)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert (ended.returncode, ended.stdout[:7]) == (0, "refused"), ended.stderr


QUICK = {
    "numbers": ["squares", "powers", "rounding", "bytes of a number", "a power", "a long literal"],
    "texts": ["captures", "tabs", "translations", "many fields", "wraps", "indents"],
    "lists": [
        "JSON",
        "decimals",
        "nested",
        "compared",
        "nested mappings",
        "products of products",
        "sorted letters",
    ],
    "times": ["stripping"],
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", [f"{kind}: {name}" for kind, names in QUICK.items() for name in names])
def test_a_template_that_computes_too_much_is_refused(name, tmp_path):
    with pytest.raises(InputError, match=r"a\.j2: the template cannot be (filled|used)"):
        fill(tmp_path, TEMPLATES[name])
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 3 * 2**20  # kilobytes


@pytest.mark.parametrize(("text", "filled"), cases(__file__, "filled"))
def test_what_prompts_need_is_filled_as_before(text, filled, tmp_path):
    (tmp_path / "a.j2").write_text(text, encoding="utf-8")
    labels = [LabelLevel(id="good", label="Good")]
    assert Templates(tmp_path).render("a.j2", {"labels": labels, "x": "hé"}) == filled


@pytest.mark.parametrize(
    "call", ["model_dump_json(indent=2000000000)", "model_copy()", "model_json_schema()"]
)
def test_values_have_no_methods(call, tmp_path):
    (tmp_path / "a.j2").write_text(f"{{{{ labels[0].{call} }}}}", encoding="utf-8")
    with pytest.raises(InputError, match="cannot be filled"):
        Templates(tmp_path).render("a.j2", {"labels": [LabelLevel(id="good", label="Good")]})


def test_inheritance_and_imports_work_within_the_limits(tmp_path):
    (tmp_path / "base.j2").write_text(
        "Base {% block part %}old{% endblock %}{{ self.part() }}", encoding="utf-8"
    )
    (tmp_path / "m.j2").write_text("{% macro m(x) %}<{{ x }}>{% endmacro %}", encoding="utf-8")
    assert (
        fill(
            tmp_path,
            "{% extends 'base.j2' %}{% import 'm.j2' as m %}"
            "{% block part %}{{ super() }} new {{ m.m(1) }}{% endblock %}",
        )
        == "Base old new <1>old new <1>"
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("one\n" + "{% if 1 %}" * 400, r"t\.j2:2: the template is nested more than 100 levels deep"),
        ("{% if 1 %}" * 101 + "{% endif %}" * 101, "nested more than 100 levels deep"),
        ("{{ " + "(" * 600 + "1" + ")" * 600 + " }}", "nested more than 100 levels deep"),
        ("{% set x = " + "[" * 600 + "]" * 600 + " %}", "nested more than 100 levels deep"),
        ("one\ntwo \0", r"t\.j2:2: the template contains a NUL character"),
    ],
    ids=["open blocks", "blocks", "parentheses", "lists", "NUL"],
)
@pytest.mark.filterwarnings("error")  # of the parser, when its generators run out of the stack
def test_nesting_beyond_what_can_be_parsed_is_refused_with_its_line(text, sentence, tmp_path):
    (tmp_path / "t.j2").write_text(text)
    (tmp_path / "around.j2").write_text("{% include 't.j2' %}")
    for name in ("t.j2", "around.j2"):
        with pytest.raises(InputError, match=sentence):
            Templates(tmp_path).names(name)


@pytest.mark.long
def test_many_blocks_after_each_other_are_no_nesting(tmp_path):
    (tmp_path / "t.j2").write_text("{% if a %}{{ {'b': (1)} }}{% endif %}{% for i in a %}{% endfor %}" * 500)
    assert Templates(tmp_path).names("t.j2") == {"a"}
