from .ledger import Ledger
from .reading import Answered, Count, Usage
from .recording import Batch

__all__ = ["Answered", "Batch", "Count", "Ledger", "Usage"]
