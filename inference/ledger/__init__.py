from .ledger import Ledger
from .ledger_reading import Answered, Count, Usage
from .recording import Batch

__all__ = ["Answered", "Batch", "Count", "Ledger", "Usage"]
