from __future__ import annotations

from conjury.inference.ledger import Ledger
from conjury.inference.ledger.exchanges import Outcome


def test_what_is_read_before_the_first_write_of_a_process_hides_nothing_written_later(
    path, make_requests, answer
):
    for n in (1, 3, 4):
        with Ledger.open(path) as ledger, Ledger.open(path, write=False) as beside:
            before = sum(count.n for count in ledger.counts())
            beside.counts()
            asked = list(ledger.pending(make_requests(n)))
            assert len(asked) == n - before
            for request in asked:
                ledger.record(Outcome(request.key, answer()))
            ledger.flush()
            for reader in (ledger, beside):
                assert sum(count.n for count in reader.counts() if count.state == "answered") == n
