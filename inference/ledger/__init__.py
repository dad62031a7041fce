from .ledger import Ledger
from .ledger_counts import Count, Usage
from .ledger_reading import Answered
from .recording import Batch

__all__ = ["Answered", "Batch", "Count", "Ledger", "Usage"]
