"""A model of `Match` with Python's lists, and random questions for both."""

from lanai_hdl.remote.match import MatchOp, Outcome

JOINS = (MatchOp.ARRIVE, MatchOp.POST)
ASK_RECEIVES = (MatchOp.ARRIVE, MatchOp.CANCEL, MatchOp.SEEK, MatchOp.DROP_RECEIVE)
LOOKS = (MatchOp.PROBE, MatchOp.SEEK)
DROPS = (MatchOp.DROP_RECEIVE, MatchOp.DROP_MESSAGE)


def question(op, handle=0, owner=0, context=0, source=0, tag=0, any_source=0, any_tag=0, closed=0):
    envelope = {"owner": owner, "context": context, "source": source, "tag": tag}
    return {
        "op": op,
        "entry": {"envelope": envelope, "any_source": any_source, "any_tag": any_tag, "handle": handle},
        "closed": closed,
    }


def fits(receive, message):
    (wanted, sent), (takes, _) = (receive["envelope"], message["envelope"]), (receive, message)
    return (
        (wanted["owner"], wanted["context"]) == (sent["owner"], sent["context"])
        and (takes["any_source"] or wanted["source"] == sent["source"])
        and (takes["any_tag"] or wanted["tag"] == sent["tag"])
    )


class Lists:
    """MPI's rule: two lists, each searched from its oldest entry on."""

    def __init__(self, cells, share=None):
        self.cells, self.share = cells, share or cells
        self.receives, self.messages = [], []

    def answer(self, asked):
        """Return outcome and handle; no handle unless it is FOUND."""
        op, entry = asked["op"], asked["entry"]
        owner = entry["envelope"]["owner"]
        searched = self.receives if op in ASK_RECEIVES else self.messages
        for found in searched:
            of_owner = found["envelope"]["owner"] == owner
            named = of_owner and found["handle"] == entry["handle"]
            pair = (found, entry) if op in ASK_RECEIVES else (entry, found)
            if of_owner if op in DROPS else named if op == MatchOp.CANCEL else fits(*pair):
                if op not in LOOKS:
                    searched.remove(found)
                return Outcome.FOUND, found["handle"]
        joined = self.receives if op == MatchOp.POST else self.messages
        sated = sum(other["envelope"]["owner"] == owner for other in joined) == self.share
        if (*JOINS, MatchOp.SEEK).count(op) and (asked["closed"] or len(joined) == self.cells or sated):
            return Outcome.FULL, None
        if op not in JOINS:
            return Outcome.NONE, None
        joined.append(entry)
        return Outcome.JOINED, None


def random_questions(chance, rounds, lists, owners=2):
    """Few envelopes, so that many fit; handles that are not in use. `lists` is asked for each."""
    for _ in range(rounds):
        op = chance.choice([*JOINS, *JOINS, *JOINS, *MatchOp])
        owner = chance.randrange(owners)
        used = {entry["handle"] for entry in (*lists.receives, *lists.messages)}
        free = [handle for handle in range(64) if handle not in used]
        handle = chance.randrange(64) if op == MatchOp.CANCEL else chance.choice(free)
        if op == MatchOp.CANCEL and used and chance.random() < 0.8:
            handle = chance.choice(sorted(used))
        wild = op not in (MatchOp.ARRIVE, MatchOp.SEEK)
        yield question(
            op,
            handle,
            owner,
            context=chance.choice([1, 1, 0x2000]),
            source=chance.choice([0, 1, 0x201]),
            tag=chance.choice([5, 6, 0x80_0005]),
            any_source=wild and chance.random() < 0.3,
            any_tag=wild and chance.random() < 0.3,
            closed=chance.random() < 0.1,
        )
