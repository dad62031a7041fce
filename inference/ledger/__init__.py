from .batches import Batch
from .ledger import Ledger
from .reading import Answered, Count, Usage

__all__ = ["Answered", "Batch", "Count", "Ledger", "Usage"]
