from .batches import Batch
from .book import Ledger
from .reading import Answered, Count, Usage

__all__ = ["Answered", "Batch", "Count", "Ledger", "Usage"]
