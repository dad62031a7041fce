"""Study files: what is judged, by whom, with which prompts, checked before anything is asked."""

from .models import AnyStudy, ItemStudy, Study, list_studies, load_any_study, load_study

__all__ = ["AnyStudy", "ItemStudy", "Study", "list_studies", "load_any_study", "load_study"]
