"""Study files: what is judged, by whom, with which prompts, checked before anything is asked."""

from .load import list_studies, load_any_study, load_study
from .models import AnyStudy, ItemStudy, Study

__all__ = ["AnyStudy", "ItemStudy", "Study", "list_studies", "load_any_study", "load_study"]
