// A switch, or what takes its place, between its wires.
#pragma once

#include "engine.h"
#include "gates.h"

// Its inputs in memory: for each port the data that it receives, then for each port its kind, then the STOP of what it
// sends; then the roles in a barrier tree. Its outputs: the data that it sends, the kinds, the STOP of what it
// receives, and whether it is idle (`gates/ports.py`).
class SwitchUnit final : public Unit {
    struct Port {
        Wire *tx = nullptr, *rx = nullptr;
    };

  public:
    explicit SwitchUnit(const GatesTable& table)
        : gates_(table), inputs_(static_cast<uint8_t*>(allocated(table.inputs_bytes))),
          outputs_(static_cast<uint8_t*>(allocated(table.outputs_bytes))) {
        ports_.resize(table.ports);
        memset(inputs_, 0, table.inputs_bytes);
        memset(outputs_, 0, table.outputs_bytes);
        gates_.show(inputs_, outputs_);
    }
    ~SwitchUnit() {
        free(inputs_);
        free(outputs_);
    }

    void join_tx(uint32_t port, Wire* wire) { ports_[port].tx = wire; }
    void join_rx(uint32_t port, Wire* wire) { ports_[port].rx = wire; }
    // Its part in a tree of several switches.
    void barrier(uint32_t members, uint32_t parent) {
        if (!gates_.table.cascaded) return;
        memcpy(inputs_ + gates_.table.members, &members, gates_.table.role_bytes);
        memcpy(inputs_ + gates_.table.parent, &parent, gates_.table.role_bytes);
    }

    void advance(uint64_t horizon, bool skip) override { advance_steps(*this, horizon, skip); }

    void step(uint64_t) {
        const uint32_t count = uint32_t(ports_.size());
        const auto* sent = reinterpret_cast<const uint32_t*>(outputs_);
        const uint8_t *sent_kind = outputs_ + 4 * count, *stops = sent_kind + count;
        auto* received = reinterpret_cast<uint32_t*>(inputs_);
        uint8_t *received_kind = inputs_ + 4 * count, *stopped = received_kind + count;
        for (uint32_t i = 0; i < count; i++) {
            Wire *tx = ports_[i].tx, *rx = ports_[i].rx;
            if (!tx) continue;
            tx->put(slot, sent_kind[i], sent[i]);
            rx->put_stop(slot, stops[i]);
            const uint64_t before = slot - tx->latency;
            received_kind[i] = rx->kind[before & rx->mask];
            received[i] = rx->data[before & rx->mask];
            stopped[i] = tx->stop[before & tx->mask];
        }
        gates_.step(inputs_, outputs_);
        slot++;
        evaluated++;
    }

    bool quiet() const override {
        if (!outputs_[gates_.table.idle]) return false;
        for (const Port& port : ports_)
            if (port.tx && !(port.rx->flits_quiet(slot) && port.tx->stops_quiet(slot) && port.tx->last_kind < slot &&
                             port.rx->last_stop < slot && port.tx->resting(slot)))
                return false;
        return true;
    }

    uint64_t wake() const override {
        uint64_t first = ~0ull;
        for (const Port& port : ports_)
            if (port.tx) first = smaller(first, port.tx->next(slot));
        return first;
    }

    bool rest(uint64_t to) override {
        for (const Port& port : ports_)
            if (port.tx) {
                port.tx->rest(slot, to);
                port.rx->rest_stop(slot, to);
            }
        slot = to;
        return true;
    }

    void save(StateWriter& to) override { state(to); }
    void restore(StateReader& from) override { state(from); }

  private:
    Gates gates_;
    uint8_t *inputs_, *outputs_;
    List<Port> ports_;

    template <class Direction>
    void state(Direction& way) {
        gates_.pass_state(way);
        way.bytes_of(inputs_, gates_.table.inputs_bytes);
        way.bytes_of(outputs_, gates_.table.outputs_bytes);
        pass(way, slot);
        pass(way, evaluated);
    }
};
