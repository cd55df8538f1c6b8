"""The notes of a device on room at receivers."""

from lanai_host.host_model.meter import Ledger


def test_each_change_names_who_took_the_room_and_whose_it_is():
    told, ledger = [], Ledger(2)
    ledger.took("slots", 5)  # nobody asks yet
    ledger.sink = lambda *change: told.append(change)
    ledger.took("slots", 5)
    ledger.has_back("slots", 5)
    ledger.freed("bytes", 7, 100)
    assert told == [("slots", 2, 5, 1), ("slots", 2, 5, -1), ("bytes", 7, 2, -100)]
