"""What all parts of a study file share: exact types, no unknown fields, numbers as people write them."""

from __future__ import annotations

from fractions import Fraction
from math import isfinite
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from ..tables.bounded import DIGITS
from .checks import suggestion


def _as_number(value: object) -> object:
    if isinstance(value, str):
        try:
            number = float(Fraction(value) if "/" in value and len(value) <= DIGITS else float(value))
        except (ValueError, ZeroDivisionError, OverflowError):
            return value
        return number if isfinite(number) else value
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


IDENTIFIER = r"^[a-z][a-z0-9_]*$"

Identifier = Annotated[str, Field(pattern=IDENTIFIER)]
Text = Annotated[str, Field(min_length=1)]
Count = Annotated[int, Field(gt=0)]
Amount = Annotated[float, BeforeValidator(_as_number), Field(ge=0, allow_inf_nan=False)]
Probability = Annotated[float, BeforeValidator(_as_number), Field(gt=0, le=1)]
Share = Annotated[float, BeforeValidator(_as_number), Field(ge=0, le=1)]


class Part(BaseModel):
    """Base of all parts of a study file: exact types, no unknown fields, immutable."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _only_known_fields(cls, values: object) -> object:
        for key in values if isinstance(values, dict) else ():
            if key not in cls.model_fields:
                hint = suggestion(str(key), cls.model_fields)
                raise PydanticCustomError("unknown_field", "{hint}", {"hint": hint, "field": str(key)})
        return values
