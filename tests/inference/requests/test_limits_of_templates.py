"""Templates that compute without end, without measure, or what nobody can print: each is refused soon."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cases import cases

from conjury.inference.errors import InputError
from conjury.inference.requests.templates import Templates
from conjury.inference.study.asking import LabelLevel

LOOP = "{%% for i in range(60) %%}%s{%% endfor %%}{{ ns.x }}"
TWO = "{% set ns = namespace(x=2) %}"
TEXT = "{% set ns = namespace(x='abc def\n') %}"
LIST = "{% set ns = namespace(x=[1]) %}"
BIG = "{% set s = 'x' * 9000000 %}"
NUMBERS = {
    "squares": TWO + LOOP % "{% set ns.x = ns.x * ns.x %}",
    "powers": TWO + LOOP % "{% set ns.x = ns.x ** ns.x %}",
    "sums of squares": TWO + LOOP % "{% set ns.x = ns.x * ns.x + ns.x %}",
    "squares by negatives": TWO + LOOP % "{% set ns.x = -ns.x * ns.x %}",
    "a power": "{{ 2 ** (2 ** 40) }}",
    "a hexadecimal": "{% set s = 'f' * 9000000 %}{% set n = s|int(0, 16) %}{{ n * n }}",
    "a long literal": "{{ 1" + "9" * 5_000 + " }}",
    "rounding": "{{ 1.5|round(1000000000, 'ceil') }}",
    "bytes of a number": "{{ (5).to_bytes(2000000000, 'big') }}",
}
TEXTS = {
    "concatenation": TEXT + LOOP % "{% set ns.x = ns.x ~ ns.x %}",
    "sums": TEXT + LOOP % "{% set ns.x = ns.x + ns.x %}",
    "products": TEXT + LOOP % "{% set ns.x = ns.x * 9 %}",
    "captures": TEXT + LOOP % "{% set ns.x %}{{ ns.x }}{{ ns.x }}{% endset %}",
    "captures with a filter": TEXT + LOOP % "{% set ns.x | upper %}{{ ns.x }}{{ ns.x }}{% endset %}",
    "macros": "{% macro m(x) %}{{ x }}{{ x }}{% endmacro %}" + TEXT + LOOP % "{% set ns.x = m(ns.x) %}",
    "replacements": TEXT + LOOP % "{% set ns.x = ns.x|replace('a', ns.x) %}",
    "replacements by a method": TEXT + LOOP % "{% set ns.x = ns.x.replace('a', ns.x) %}",
    "replacements of nothing": TEXT + LOOP % "{% set ns.x = ns.x|replace('', ns.x) %}",
    "separators": TEXT + LOOP % "{% set ns.x = ns.x|join(ns.x) %}",
    "separators by a method": TEXT + LOOP % "{% set ns.x = ns.x.join(ns.x) %}",
    "separators of a generator": TEXT + LOOP % "{% set ns.x = ns.x|map('upper')|join(ns.x) %}",
    "formats": TEXT + LOOP % "{% set ns.x = ns.x ~ '%s%s'|format(ns.x, ns.x) %}",
    "formats in braces": TEXT + LOOP % "{% set ns.x = '{0}{0}{0}'.format(ns.x) %}",
    "many fields": BIG + "{{ ('%(a)s' * 100000) % {'a': s} }}",
    "many fields in braces": BIG + "{{ ('{0}' * 100000).format(s) }}",
    "wide fields": "{{ ('%(a)9999s' * 100000) % {'a': 1} }}",
    "wide fields in braces": "{{ ('{0:>9999}' * 100000).format(1) }}",
    "a computed width": "{{ '{0:>{1}}'.format(1, 2000000000) }}",
    "a width as an argument": "{{ '%*d' % (2000000000, 1) }}",
    "centred": "{{ 'x'|center(2000000000) }}",
    "filled": "{{ 'x'.zfill(2000000000) }}",
    "tabs": "{{ ('\t' * 1000000).expandtabs(9999) }}",
    "indents": "{{ ('\n' * 1000000)|indent(9999) }}",
    "indents by a text": BIG + "{{ ('\n' * 1000000)|indent(s) }}",
    "wraps": BIG + "{{ s|wordwrap(1, true, s) }}",
    "translations": BIG + "{{ s.translate({120: s}) }}",
    "indents of JSON": "{{ ([1] * 100000)|tojson(9999) }}",
    "literal text": "{% set x %}{% for i in range(90000) %}" + "y" * 20_000 + "{% endfor %}{% endset %}",
    "filtered blocks": TEXT
    + LOOP % "{% set ns.x %}{% filter upper %}{{ ns.x * 2 }}{% endfilter %}{% endset %}",
    "calls": "{% macro m(x) %}{{ caller() }}{{ caller() }}{% endmacro %}"
    + TEXT
    + LOOP % "{% set ns.x %}{% call m(1) %}{{ ns.x }}{% endcall %}{% endset %}",
}
LISTS = {
    "products": LIST + LOOP % "{% set ns.x = ns.x * 9 %}",
    "sums": LIST + LOOP % "{% set ns.x = ns.x + ns.x %}",
    "nested": LIST + LOOP % "{% set ns.x = [ns.x, ns.x] %}",
    "nested tuples": LIST + LOOP % "{% set ns.x = (ns.x, ns.x) %}",
    "nested mappings": LIST + LOOP % "{% set ns.x = {'a': ns.x, 'b': ns.x} %}",
    "mappings by a function": LIST + LOOP % "{% set ns.x = dict(a=ns.x, b=ns.x) %}",
    "compared": LIST
    + "{% set o = namespace(x=[1]) %}"
    + LOOP % "{% set ns.x = [ns.x, ns.x] %}{% set o.x = [o.x, o.x] %}"
    + "{{ ns.x == o.x }}",
    "products of products": "{{ ([[['x'] * 9000] * 9000] * 9000)|length }}",
    "sums by a filter": "{{ ([[1]] * 100000)|sum(start=[]) }}",
    "sorted letters": "{{ ('ab' * 4000000)|sort|length }}",
    "letters": BIG + "{{ s|list|length }}{{ s|batch(1)|list|length }}",
    "ranges": "{{ range(2000000000)|list }}",
}
TIMES = {
    "loops in loops": "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
    "loops over a text": BIG + "{% for i in s %}{% for j in s %}{% endfor %}{% endfor %}",
    "macros of macros": "{% macro m(n) %}{% if n %}{{ m(n - 1) ~ m(n - 1) }}{% endif %}{% endmacro %}"
    "{{ m(40) }}",
    "files that include themselves": "{% set n = (n if n is defined else 40) - 1 %}"
    "{% if n %}{% include 'a.j2' %}{% include 'a.j2' %}{% endif %}",
    "stripping": BIG + "{{ s.strip('y' * 9000000 ~ 'x') }}",
    "trimming": BIG + "{{ s|trim('y' * 9000000 ~ 'x') }}",
    "comparisons": BIG + "{% set t = 'x' * 9000000 %}{% for i in range(99999) %}{{ s == t }}{% endfor %}",
    "searches": BIG + "{% for i in range(99999) %}{{ 'y' in s }}{% endfor %}",
    "tests": BIG + "{% set t = 'x' * 9000000 %}{% for i in range(99999) %}{{ s is eq(t) }}{% endfor %}",
    "slices": BIG + "{% for i in range(99999) %}{% set t = s[1:] %}{% endfor %}",
    "paragraphs": "{{ lipsum(10000) }}",
}
KINDS = {"numbers": NUMBERS, "texts": TEXTS, "lists": LISTS, "times": TIMES}
EACH = [pytest.param(text, id=f"{kind}: {name}") for kind, of in KINDS.items() for name, text in of.items()]
FILL = """
import resource, sys
from pathlib import Path
from conjury.inference.errors import InputError
from conjury.inference.requests.templates import Templates
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[2]), int(sys.argv[2])))
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
for name in sys.argv[3:]:
    try:
        print(name, "filled", len(Templates(Path(sys.argv[1])).render(name, {})), flush=True)
    except InputError as error:
        print(name, "refused", error, flush=True)
"""


def fill(folder: Path, text: str) -> str:
    (folder / "a.j2").write_text(text, encoding="utf-8")
    return Templates(folder).render("a.j2", {})


@pytest.mark.slow
def test_no_template_takes_more_than_its_time_and_memory(tmp_path: Path) -> None:
    names = []
    for number, case in enumerate(EACH):
        names.append(f"t{number}.j2")
        text = str(case.values[0]).replace("a.j2", names[-1])
        (tmp_path / names[-1]).write_text(text, encoding="utf-8")
    ids = {name: str(case.id) for name, case in zip(names, EACH, strict=True)}
    for name in names:
        ended = subprocess.run(
            [sys.executable, "-c", FILL, str(tmp_path), str(3 * 2**30), name],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert ended.returncode == 0, (ids[name], ended.stderr)
        assert f"{name} refused" in ended.stdout, (ids[name], ended.stdout)


QUICK = [
    *(
        f"numbers: {name}"
        for name in ("squares", "powers", "rounding", "bytes of a number", "a power", "a long literal")
    ),
    *(f"texts: {name}" for name in ("captures", "tabs", "translations", "many fields", "wraps", "indents")),
    *(
        f"lists: {name}"
        for name in ("nested", "compared", "nested mappings", "products of products", "sorted letters")
    ),
    "times: stripping",
]


@pytest.mark.parametrize("text", [case for case in EACH if case.id in QUICK])
def test_a_template_that_computes_too_much_is_refused_soon(text: str, tmp_path: Path) -> None:
    began = time.thread_time()
    with pytest.raises(InputError, match=r"a\.j2: the template cannot be (filled|used)"):
        fill(tmp_path, text)
    assert time.thread_time() - began < 5
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 3 * 2**20  # kilobytes


@pytest.mark.parametrize(("text", "filled"), cases(__file__, "filled"))
def test_what_prompts_need_is_filled_as_before(text: str, filled: str, tmp_path: Path) -> None:
    (tmp_path / "a.j2").write_text(text, encoding="utf-8")
    labels = [LabelLevel(id="good", label="Good")]
    assert Templates(tmp_path).render("a.j2", {"labels": labels}) == filled


@pytest.mark.parametrize(
    "call", ["model_dump_json(indent=2000000000)", "model_copy()", "model_json_schema()"]
)
def test_values_have_no_methods(call: str, tmp_path: Path) -> None:
    (tmp_path / "a.j2").write_text(f"{{{{ labels[0].{call} }}}}", encoding="utf-8")
    with pytest.raises(InputError, match="cannot be filled"):
        Templates(tmp_path).render("a.j2", {"labels": [LabelLevel(id="good", label="Good")]})


def test_inheritance_and_imports_work_within_the_limits(tmp_path: Path) -> None:
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


def test_many_blocks_after_each_other_are_no_nesting(tmp_path):
    (tmp_path / "t.j2").write_text("{% if a %}{{ {'b': (1)} }}{% endif %}{% for i in a %}{% endfor %}" * 500)
    assert Templates(tmp_path).names("t.j2") == {"a"}
