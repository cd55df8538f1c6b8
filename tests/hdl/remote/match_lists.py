"""A model of `Match` with Python's lists, and random questions for both."""

from lanai_hdl.remote.match import MatchOp, Outcome

PROBES = (MatchOp.PROBE, MatchOp.TAKE)
JOINS = (MatchOp.ARRIVE, MatchOp.POST)


def question(op, handle=0, owner=0, context=0, source=0, tag=0, any_source=0, any_tag=0):
    envelope = {"owner": owner, "context": context, "source": source, "tag": tag}
    return {
        "op": op,
        "entry": {"envelope": envelope, "any_source": any_source, "any_tag": any_tag, "handle": handle},
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
        searched = self.receives if op in (MatchOp.ARRIVE, MatchOp.CANCEL) else self.messages
        for found in searched:
            named = (found["envelope"]["owner"], found["handle"]) == (owner, entry["handle"])
            pair = (found, entry) if op == MatchOp.ARRIVE else (entry, found)
            if named if op == MatchOp.CANCEL else fits(*pair):
                if op != MatchOp.PROBE:
                    searched.remove(found)
                return Outcome.FOUND, found["handle"]
        if op not in JOINS:
            return Outcome.NONE, None
        joined = self.receives if op == MatchOp.POST else self.messages
        if len(joined) == self.cells or sum(other["envelope"]["owner"] == owner for other in joined) == self.share:
            return Outcome.FULL, None
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
        wild = op != MatchOp.ARRIVE
        yield question(
            op,
            handle,
            owner,
            context=chance.choice([1, 1, 0x2000]),
            source=chance.choice([0, 1, 0x201]),
            tag=chance.choice([5, 6, 0x80_0005]),
            any_source=wild and chance.random() < 0.3,
            any_tag=wild and chance.random() < 0.3,
        )
