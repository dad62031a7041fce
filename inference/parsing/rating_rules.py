"""Ratings on one or several named scales, and the numbers in which people write them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from ..tables.columns import fold, plain
from .answer_words import UNSPACED, alternatives, is_unspaced, words_of
from .option_names import first_token, masses, share, token_at, token_word
from .quoted import DOUBLED, GAP, Record, last_values, records_with_key, strict_object, unquoted_content
from .sentences.plain_numbers import (
    FIGURE,
    STARS,
    count_stars,
    number_pattern,
    plain_numbers,
    plain_thousands,
    rating,
    without_ornament,
)
from .spec import Answer, Mass, ResponseSpec, RuleFinding, ScaleSpec

_STAR_LINE = re.compile(
    r"(?:(?<=\A)"
    r"|(?<=[\n:]))\s?\*{0,2}[\u2605\u2b50\U0001f31f](?:\s?[\u2605\u2b50\U0001f31f\u2606\ufe0f])*(?!\u00bd)(?=\s?\*{0,2}[.!]?\s*(?:\n|\Z|\d|because|[-\u2013(]))"
)


INNER_KEYS = ("score", "rating", "value")
_SIGN = r"(?:[\s\"'*_`)\]]{0,6}(?:[:=|]|=?->|\u2192|\]|\s-(?![\d.])|\n)[\s:=\"'*_`(\[|$]{0,12}|[\s\"'*_`)\]:]{0,6}(?:LINKS)[\s:\"'*_`(\[]{0,8}(?:(?:therefore|thus|hence|clearly|then)\s)?)"
_ARTICLES = r"(?:(?:roughly|about|around|approximately|maybe|perhaps|probably|likely|circa|weak|perfect|full|firm|generous|strict|mere|decent|good|high|low|only|now|still|a|an|the|un|une|ein|eine|um|uma|een|una|uno|solid|clear|strong)\s){0,2}"
_WHAT = (
    r"(?:\s(?:for|of|fur|des|der|de|du|da|do|del|della|per|voor|van|dla|за|für)\s[^:\n.,;?!]{1,40}(?=[:*_]))?"
)
_BRACKET = r"(?:[\s*_\"'`]{0,4}(?:[(\[][^()\[\]\n]{0,30}[)\]]))?"
_END = (
    r"(?=[\s*_`\"')\]}|$]{0,8}(?:\Z|\n|[.,;:!(\u3002\uff0c\u3001]|-\s|(?:because|since|as|for|due"
    r"|overall|here|weil|da|porque|parce|car|perche|omdat|pois|and|but"
    r"|bo|потому|from me|in my|to me|i think|von mir|van mij|de ma part|de mi parte|da me|da mim|ode mnie|от меня"
    r"|(?:to|for|a|an|pour|fur|para|per|voor) (?:this|ce|cet|cette|est[ea]|diese[rnsm]?|quest[oa]|dit|deze))\b|です|입니다|है|,|</|%))"
)
_GIVING = (
    r"(?<![\w'])(?:(?:i|we)(?:'d|'ll| would| will|)(?:\s(?:therefore|thus|hereby|also|ultimately"
    r"|personally|overall))?\s(?:rate|give|score|assign|grade|award|say|estimate|put|settle on|land on)"
    r"|\Arated|let me go with|(?:i(?:'d| would| will|'ll)) go(?: with| for)?|c'est(?=\sune?\s)|(?:das|es) ist(?=\seine?\s)|i(?:'d| would) (?:put|call|make|place) (?:it|this|that|this one)(?=\s(?:an?|at)\s)"
    r"|oceniam (?:to|tekst|odpowiedz) na"
    r"|i(?:'m| am) (?:giving|rating|scoring|assigning)|(?:this|that) one(?: is)?(?=\s(?:a|an"
    r"|gets)\s)|(?:it|this|this one|answer|response|text|post|joke|essay|item|reply|summary|story"
    r"|which|and)\s(?:therefore |thus |clearly |fully )?"
    r"(?:deserves|gets|earns|receives|merits|scores|warrants|rates)|(?:it's|it is|this is|that's"
    r"|that is|makes this|makes it)(?=\s(?:a|an)\s)"
    r"|le pongo|le doy|doy|otorgo|asigno|merece|je (?:lui )?(?:donne|mets|note|attribue|accorde)|j'(?:accorde|attribue)|merite"
    r"|obtient|recoit|krijgt|bekommt|erhalt|recibe|recebe|riceve|ottiene|dostaje|otrzymuje|получает|far|mendapat(?:kan)?|ich (?:gebe|vergebe|bewerte)|verdient"
    r"|(?:eu )?dou|atribuo|assegno|do un|merita|ik geef|verdient|daje|stawiam|zasluguje na"
    r"|я (?:ставлю|даю|оцениваю)|ставлю|заслуживает|jag ger"
    rf"|我给|我打|给出?|打|veriyorum|saya (?:beri|memberi)|اعطي|اعطيه|امنح)(?:(?!\w)|(?<={UNSPACED}))"
)
_VERBS_BEHIND = fold(
    r"\s?(?:를|을|을|を)?\s?(?:veriyorum|verirdim|veririm|주겠습니다|줍니다|드립니다|줄게요|주고 싶습니다|つけます|与えます|とします|とします|にします"
    r"|(?:geben|vergeben)(?=\s?[.!,;\n]|$)|(?:देता|देती|दूंगा|दूंगी)(?: हूं)?)"
)
_GIVEN_TO = (  # between the name of a scale behind "for" and its rating
    r"(?:,?\s(?:(?:i|we|it|they|(?:this|the)\s\w{1,14})(?:'d|\swould)?\s)?(?:give|gives|gave|say|award|assign|earns?|gets?|deserves?|scores?"
    r"|receives?|merits?|is|gebe ich|vergebe ich|bekommt \w{1,4}|(?:le )?doy|je (?:donne|mets)|dou|do|geef ik|daje|ставлю)(?:\s(?:it|only))?\s|[,:]?\s(?:only\s)?)"
)
_DENIED = re.compile(r"\b(?:nicht|keine?|nie|niemals)\b")
_NOT_GIVING = r"(?![^.\n]{0,60}\b(?:not|never|if|than|between|up to|nearly|almost|at (?:least|most)|less|more|over|under|only if)\b)"


@dataclass(frozen=True, slots=True)
class _Ratings:
    """Numbers or sentences of why there is none, for one scale."""

    values: tuple[float | str, ...]
    notes: tuple[str, ...] = ()


def strict(
    answer: Answer, response: ResponseSpec, order: Sequence[str], texts: Sequence[str]
) -> list[RuleFinding]:
    """Read a JSON object with a number in range for each scale, or, of a single scale, the number alone."""
    text = answer.text.strip()
    record = strict_object(text, [scale.id for scale in response.scales])
    if record is None and len(response.scales) == 1:
        record = Record({response.scales[0].id: decode_whole_number(text)})
    fields = record or Record()
    return [
        _finding(answer, scale, _Ratings((_number(fields.get(scale.id), scale),)))
        for scale in response.scales
    ]


def lenient(
    answer: Answer, response: ResponseSpec, order: Sequence[str], texts: Sequence[str]
) -> list[RuleFinding]:
    """Read numbers, fractions of the maximum and words for numbers, from JSON or from named lines."""
    # A scale that is missing, out of range, or given twice with different numbers is not read; the others
    # are.
    # Quotations of few words may contain the rating itself; what is longer is quoted from the judged text.
    tags = frozenset(plain(name) for scale in response.scales for name in (scale.id, scale.label))
    content = unquoted_content(
        answer.text, lambda passage: len(passage) <= 62 and ":" not in passage, texts, tags
    )
    content.values = last_values(content)
    digits = plain_numbers(content.prose)
    findings = []
    for scale in response.scales:
        prose = plain_thousands(digits) if scale.maximum >= 1000 else digits
        ratings = _ratings_in_json(content.values, scale, single=len(response.scales) == 1)
        if not content.pure:
            prose_values = list(_numbers(prose, scale, _pattern(scale, len(response.scales) == 1)))
            note = (
                ("JSON amid other text",) if ratings.values else ("read from text",) if prose_values else ()
            )
            ratings = _Ratings(
                tuple(dict.fromkeys((*ratings.values, *prose_values))), (*ratings.notes, *note)
            )
        findings.append(_finding(answer, scale, ratings))
    return findings


def decode_whole_number(text: str) -> float | None:
    """Decode a text that is a number in digits and nothing else."""
    return float(text) if re.fullmatch(r"-?[0-9]{1,9}(?:\.[0-9]{1,9})?", text) else None


def _number(value: object, scale: ScaleSpec) -> float | str:
    return (
        rating(value, scale) if isinstance(value, float) else "no rating" if value is None else "not a number"
    )


def _ratings_in_json(values: Sequence[object], scale: ScaleSpec, single: bool) -> _Ratings:
    names = frozenset({plain(scale.id), plain(scale.label)} - {""})
    pairs = list(records_with_key(values, names))
    if not pairs and single:
        pairs = list(records_with_key(values, frozenset((*INNER_KEYS, *words_of("ratings")))))
    ratings: list[float | str] = []
    for record, name in pairs:
        value = record[name]
        if isinstance(value, Record):
            value = next((value[key] for key in INNER_KEYS if key in value), None)
        ratings.append("the scale came twice" if name in record.contradicted else rating(value, scale))
    doubled = any(name in record.doubled for record, name in pairs)
    return _Ratings(tuple(dict.fromkeys(ratings)), (DOUBLED,) if doubled else ())


@lru_cache(maxsize=1)
def _general() -> tuple[str, str]:
    """Patterns of the nouns for a rating, and of what links them with it."""
    links = {
        part for words in words_of("is") for part in words.split("|") if part.isalpha() or " " in part
    } | {"of"}
    linked = "|".join(
        link if is_unspaced(link[-1]) else rf"(?<!\w){link}(?!\w)" for link in sorted(links, reverse=True)
    )
    return alternatives(words_of("ratings")), _SIGN.replace("LINKS", linked)


@lru_cache(maxsize=256)
def _pattern(scale: ScaleSpec, single: bool) -> re.Pattern[str]:
    names = sorted({plain(scale.id), plain(scale.label)} - {""}, key=len, reverse=True)
    words = [r"[\s_/-]{1,3}".join(map(re.escape, name.split())) for name in names]
    general, sign = _general()
    number = number_pattern(scale)
    several = r"(?:(?:'s)?\s?(?:,|&|and|und|et|y|e|i|en|и|,\sand)\s(?:the\s)?\w{2,30}){1,4}"
    all_of_them = r"(?:across the board|for (?:each|all)|on (?:each|all)|each|in every respect)"
    named = rf"(?<![\w-])(?:{'|'.join(words)})(?:\s(?:score|rating|first))?(?!\w)[*_\"'`]{{0,4}}{_BRACKET}"
    forms = [
        rf"{named}(?:{sign}{_ARTICLES}(?P<named>{number})"
        rf"|{sign}(?P<starred>[\u2605\u2b50\U0001f31f][\u2605\u2b50\U0001f31f\u2606\ufe0f]*)"
        rf"|[\s*_`\"'|(>]{{1,6}}(?P<beside>{number})(?!\)\s(?:and|or)\b)(?:{_END}|(?=\s?\|))|,?\s(?:sadly,?\s)?(?:gets|earns"
        rf"|receives|scores|deserves|at|rated|is rated|only"
        rf"|has|a|an)\s{_ARTICLES}(?P<earned>{number}){_END})",
        rf"(?<![\w-])(?:{'|'.join(words)})(?!\w)(?:{sign}|[\s:]{{0,3}})(?P<in_stars>[\u2605\u2b50\U0001f31f][\u2605\u2b50\U0001f31f\u2606\ufe0f]*)",
        rf"(?<![\w-])(?:{'|'.join(words)})(?!\w)\s\((?P<bracketed>{FIGURE}(?:\s?/\s?{scale.maximum:g})?)\)",
        rf"(?<!\w)(?:for|on|in|fur|bei|pour|en|para|per|voor|za|за)\s(?:the\s|its\s|la\s|le\s|die\s|den\s|el\s|de\s)?(?:{'|'.join(words)})(?!\w){_GIVEN_TO}{_ARTICLES}(?P<thereof>{number}){_END}",
        rf"(?<![\w-])(?:{'|'.join(words)}){several}\s(?:both|each|all)?\s?(?:get|are|score|earn|deserve|merit|receive|rate|:|=)\s(?:both\s|each\s)?{_ARTICLES}(?P<jointly>{number}){_END}",
        rf"(?<![\w-])\w{{2,30}}{several.replace('{1,4}', '{0,3}')}\s?(?:,|&|and|und|et|y|e|i|en|и)\s(?:the\s)?(?:{'|'.join(words)})\s(?:both|each|all)?\s?(?:get|are|score|earn|deserve|merit|receive|rate)\s(?:both\s|each\s)?{_ARTICLES}(?P<joint>{number}){_END}",
        rf"(?:\A|[.!\n]\s?)(?:an?\s)?(?P<overall>{number})\s{all_of_them}(?!\w)",
        rf"(?P<before>{FIGURE}(?:\s?/\s?{scale.maximum:g})?)\s(?:points?\s)?(?:for|on|pour|fur"
        rf"|para|per)\s(?:the\s|its\s|la\s|le\s)?(?:{'|'.join(words)})(?!\w)(?!\s?[:=])",
    ]
    if single:
        bullet = r"(?:[-+\u2022]\s)?" if scale.minimum >= 0 else ""
        before, behind = rf"[\s*_`#{GAP}(\[\"'$]{{0,6}}{bullet}", r"[\s*_`)\]\"'.!}$\u3002]{0,6}"
        forms = [
            rf"\A(?:\"[^\"\n]{{1,80}}[?.:]\"\s)?{before}[~\u2248=]?\s?{_ARTICLES}(?P<alone>{number})(?:\s(?:rather than|instead of|not)\s(?:an?\s)?\d{{1,3}}|,?\s(?:at best|at a push|i (?:think|guess|suppose|believe|would say|'d say)))?{behind}\Z",
            rf"(?:\A|\n)[*_`(\[\"']{{0,6}}(?P<line>{number})[*_`)\]\"'.!]{{0,4}}[ \t]*(?=\n|\Z)",
            rf"\A[*_`(\[\"'=\u2248~]{{0,6}}\s?{_ARTICLES}(?P<opening>{number})[*_]{{0,3}}(?:\.(?=\s(?!actually|hmm|or|no\b)[a-z][^\n]{{10,}}[.!?]\s*(?:\n|\Z))(?![^\n]*\n\s*\d)|,(?=\s(?!or|maybe|but|perhaps)[a-z])(?![^.\n]*\bor\s\d)|\s-(?=\s[a-z])|(?=\s\((?!or|maybe|\d(?!\s?=|\s(?:points?|stars?)\s(?:for|each))))|\s=(?=\s[a-z][^=\d]*\Z))",
            rf"(?:[!?;\u2026\u3002\uff1a\u2192\n]|(?<![<>])=|:(?!(?<=\d:)\d)|\.\s|,\s(?:so|but)|\sso|,\sa"
            rf"|\.\sa)[\s*_(\[]{{0,4}}(?:(?:so|thus|therefore|overall|fine|ok|final|i say|i'd say|it is|rated|i'd go with|let me go with"
            rf"|it's|then|mine|i answer"
            rf"|i'll settle on)[\s,:]{{1,3}}){{0,3}}{_ARTICLES}(?P<closing>{number})[*_`)\]\"'.!]{{0,4}}\s*\Z",
            *forms,
            rf"(?:{general}){_BRACKET}{_WHAT}{sign}{_ARTICLES}(?P<general>{number})",
            rf"(?<!\w)(?:rating|score|grade|note|nota|bewertung|ocena|total|overall|total impression|puanim|voto|punteggio|cijfer|betyg|nilai|skor"
            rf"|оценка)\s[*_]{{0,3}}(?P<blank>{number}){_END}",
            rf"<[\w-]{{0,20}}(?:{general})[\w-]{{0,20}}(?:\s[^<>]{{0,40}})?>\s{{0,4}}(?P<tagged>{number})\s{{0,4}}</",
            rf"\\boxed\s?\{{\s?(?:\\text\{{)?(?P<boxed>{number})\s?\}}",
            rf"\[\[\s?(?P<marked>{number})\s?\]\]",
            rf"(?<![\w.,/-])(?P<mine>{FIGURE})\s(?:is|would be|seems|feels|sounds)\s(?:my|the|a)\s(?:(?:final|fair|right|overall|honest)\s)?(?:score|rating|answer|grade|mark|verdict){_END}",
            rf"(?:(?<=\s)|(?<=\A)|(?<={UNSPACED}))(?P<verbal>{number}){_VERBS_BEHIND}",
            rf"{_GIVING}{_NOT_GIVING}[^.\n\d]{{0,60}}?(?:(?<=[\s*_(])"
            rf"|(?<={UNSPACED}))(?P<given>{number}){_END}",
            rf"(?:\A|\n)[^\n:]{{0,80}}?[\s*_(](?P<fraction>{FIGURE}\s?(?:/"
            rf"|out of)\s?{scale.maximum:g})(?!\w|[.,]\d|/)[*_)\]]{{0,4}}[.!]?[ \t]*(?=\n|\Z)",
            rf"{_CORRECTION}[\s,:;.!\u2026-]{{1,6}}(?:(?:i(?:'d| would)? (?:give|say)(?: it)?|it's"
            rf"|it is|make (?:it|that)|rather)\s)?{_ARTICLES}(?P<corrected>{number}){_END}",
        ]
    return re.compile("|".join(forms))


_CORRECTION = r"\b(?:no|wait|correction|actually|revised|i mean|scratch that|on second thoughts?|on reflection|nein|korrektur|non|correccion|nao|correzione|нет|точнее)\b"
_ANNOUNCED = re.compile(_CORRECTION)


def _numbers(prose: str, scale: ScaleSpec, pattern: re.Pattern[str]) -> Iterator[float | str]:
    """Ratings in prose, without those that the answer itself corrects."""
    values: list[float | str] = []
    end = 0
    corrections = _replacing(scale)
    for match in pattern.finditer(prose):
        name, number = next((name, group) for name, group in match.groupdict().items() if group is not None)
        if ":" in prose[match.start() : match.start(name)] and _COUNTED.match(prose, match.end()):
            continue
        value = count_stars(number, scale) if STARS.match(number) else rating(without_ornament(number), scale)
        before = prose[max(0, match.start() - 80) : match.start()]
        if _REPORTED.search(before) or (
            _RANGE.fullmatch(number)
            and (
                before.endswith(("(", " ("))
                or number in _ranges(scale)
                or _A_RANGE.search(prose, 0, match.start(name))
            )
        ):
            continue
        if name == "verbal" and _DENIED.search(before):
            continue
        replaced = corrections.match(prose, match.end())
        if replaced is not None:
            value = rating(without_ornament(replaced["number"]), scale)
        if (
            name == "closing"
            and len(_ENDINGS.findall(prose)) > 1
            and not _headed().search(prose, 0, match.start(name))
        ):
            continue
        if match.end() == len(prose.rstrip()) and "{" in prose and "}" not in prose:
            value = "may go on behind the cut"
        between = prose[max(end - 1, 0) : match.end()]
        if values and value != values[-1] and len(between) < 120 and _ANNOUNCED.search(between):
            values = []
        values.append(value)
        end = match.end()
    if pattern.groupindex.get("alone"):
        stars = [run[0] for run in _STAR_LINE.finditer(prose)]
        values += [
            value for run in stars[:2] if (value := count_stars(run.strip(" :*"), scale)) not in values
        ]
    yield from values


_COUNTED = re.compile(
    r"\s?(?:kg|g|mg|km|m|cm|mm|ml|l|min|h|hrs?|kb|mb|gb)(?!\w)|\u00b0"  # units of what is no rating
    r"| (?:of (?:the|its|his|her|their|my|all|these|those)\b|(?!this\b)[a-z]{3,}s\b(?!\s?[:\n]))"
)  # "wit: 3 typos", "overall: 2 of the facts"
_ENDINGS = re.compile(r":\s*\d{1,4}\W*$", re.MULTILINE)
_A_RANGE = re.compile(r"\b(?:range|interval|scale|between)\W{1,3}\Z")
_RANGE = re.compile(r"\d+\s?(?:-|to)\s?\d+")


def _ranges(scale: ScaleSpec) -> tuple[str, str]:
    return f"{scale.minimum:g}-{scale.maximum:g}", f"{scale.minimum:g} to {scale.maximum:g}"


@lru_cache(maxsize=1)
def _headed() -> re.Pattern[str]:
    return re.compile(rf"(?:\A|\n)[\s*_#]{{0,4}}(?:{_general()[0]})[\s*_:=]{{0,6}}\Z")


@lru_cache(maxsize=256)
def _replacing(scale: ScaleSpec) -> re.Pattern[str]:
    """Pattern of a number that at once replaces the one before it: "3... no, 4"."""
    return re.compile(
        rf"[*_)]{{0,3}}\s?(?:\.{{2,3}}|[,;-]|\u2026)\s?(?:no|actually|correction|sorry|i mean|wait"
        rf"|rather|make that)[\s,:]{{1,3}}(?:wait,?\s)?(?:make (?:it|that)\s)?"
        rf"(?P<number>{number_pattern(scale)})"
    )


_REPORTED = re.compile(
    r"(?<!i )(?<!i'd )(?<!i would )\b(?:says?|said|claims?|reads?|states?|asks? for|asked for|demands?|if|whether|not|never"
    r"|n't|wants?|minimum|maximum|lowest|highest|possible|average|sample|example"
    r"|dice|dit|sagt|diz|wenn|si)\s(?:(?:that|the|a|an|la|el|die|le|my|its)\s){0,2}\Z"
)


def _finding(answer: Answer, scale: ScaleSpec, ratings: _Ratings) -> RuleFinding:
    numbers = [value for value in ratings.values if isinstance(value, float)]
    if len(ratings.values) != 1 or not numbers:
        several = f"contradicting ratings: {', '.join(f'{n:g}' for n in sorted(numbers))}"
        reasons = [value for value in ratings.values if isinstance(value, str)]
        note = several if len(numbers) > 1 else "; ".join(reasons) or "the scale is missing"
        return RuleFinding(scale.id, None, note)
    return RuleFinding(scale.id, numbers[0], "; ".join(ratings.notes), _mass(answer, scale, numbers[0]))


def _mass(answer: Answer, scale: ScaleSpec, value: float) -> Mass:
    entry = token_at(answer, scale.id) or first_token(answer)
    one_digit = scale.whole and scale.minimum >= 0 and scale.maximum <= 9
    if entry is None or not one_digit or _digit(str(entry.get("token")), scale) != value:
        return Mass()
    mass = masses(entry, lambda token: _digit(token, scale))
    result = share(mass, value, entry, int(scale.maximum - scale.minimum) + 1)
    total = sum(mass.values())
    is_known = total > 0 and not result.bound
    expected = sum(number * weight for number, weight in mass.items()) / total if is_known else None
    return replace(result, expected=expected)


@lru_cache(maxsize=10_000)
def _digit(token: str, scale: ScaleSpec) -> float | None:
    word = token_word(token)
    inside = len(word) == 1 and word.isdecimal() and scale.minimum <= float(word) <= scale.maximum
    return float(word) if inside else None
