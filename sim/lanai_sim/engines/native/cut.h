// The cables between the units of this process and those of others that simulate the same machine.
#pragma once
#include <stdint.h>

#include "engine.h"

// Sends these bytes to all other parts and waits for theirs, which stay where `others` points until the next call.
// It may set these pointers. Nonzero: it failed. `links` is what it is given with.
using Exchange = uint32_t (*)(void* links, const uint8_t* bytes, uint64_t size, const uint8_t** others);

// How far a unit is. `here`: in this process.
struct Progress {
    uint64_t slot, evaluated;
    uint32_t unit, here;
};

// The state of a part, or of all parts together, between two rounds.
struct View {
    uint64_t first;  // the slot of the unit that is furthest behind
    uint64_t wake;   // with all units quiet: the slot up to which nothing happens; ~0 if nothing ever does
    uint32_t quiet;  // all units are
    uint32_t moved;  // some unit has left slots out

    void join(const View& other) {
        first = smaller(first, other.first);
        wake = smaller(wake, other.wake);
        quiet &= other.quiet;
        moved |= other.moved;
    }
};

// What all parts want together of the next step, given what each of them wants.
inline void join(Turn& turn, const Turn& other) {
    turn.limit = smaller(turn.limit, other.limit);
    turn.done &= other.done;
    turn.pending |= other.pending;
    turn.aside |= other.aside;
    turn.over &= other.over;
}

// A part sends what its units put into cut wires, and keeps a copy of each cut wire with what the others put in.
class Cut {
  public:
    uint64_t exchanges = 0;

    bool active() const { return exchange_ != nullptr; }
    void begin(Exchange exchange, void* links, const uint8_t** others, uint32_t count) {
        exchange_ = exchange;
        links_ = links;
        others_.clear();
        others_.append(others, count);
    }
    void end() { exchange_ = nullptr; }

    // `number` in the order of all wires. Either its sender or its receiver is here.
    void wire(uint32_t number, Wire* wire, bool sends) { ends_.push_back({wire, number, sends, 0, {}}); }

    // The wires have their state from elsewhere, as the other parts' copies have.
    void restored() {
        for (End& end : ends_) {
            Wire& wire = *end.wire;
            end.told = end.sends ? wire.last_kind : wire.last_stop;
            uint64_t last = end.sends ? wire.last_stop : wire.last_kind;
            for (uint64_t slot = last - smaller(last, wire.mask + 1); slot < last; slot++)
                if ((end.sends ? wire.stop : wire.kind)[slot & wire.mask]) end.in.push_back(slot);
        }
    }

    // Exchange views, turns, events and flits with all other parts. `progress`: of units, by number, as they are here;
    // or none. False if that failed.
    bool meet(View& view, Turn& turn, List<Event>& events, List<Progress>* progress) {
        Head head{view, turn, uint32_t(events.size()), 0, 0, 0};
        out_.resize(sizeof head);
        append(events.data(), events.size());
        for (End& end : ends_) head.flits += end.sends ? flits_of(end) : stops_of(end);
        if (head.flits) head.view.quiet = 0;  // their receivers do not know of them
        if (progress) {
            for (Progress& one : *progress)
                if (one.here) append(&one, 1), head.units++;
        }
        memcpy(out_.data(), &head, sizeof head);
        exchanges++;
        if (exchange_(links_, out_.data(), out_.size(), others_.data())) return false;
        view = head.view;
        for (const uint8_t* bytes : others_) take(bytes, view, turn, events, progress);
        for (End& end : ends_) clear(end, view.first);
        return true;
    }

  private:
    struct Head {
        View view;
        Turn turn;
        uint32_t events, flits, units, unused;
    };
    struct Flit {
        uint64_t slot;
        uint32_t wire, data;
        uint32_t kind, is_stop;
    };
    struct End {
        Wire* wire;
        uint32_t number;
        bool sends;
        uint64_t told;             // one past the last slot that the other end knows of
        List<uint64_t> in;  // slots that the other end has filled, and that hold something still
    };

    Exchange exchange_ = nullptr;
    void* links_ = nullptr;
    List<const uint8_t*> others_;
    List<End> ends_;
    List<uint8_t> out_;

    template <class Value>
    void append(const Value* values, size_t count) {
        auto* bytes = reinterpret_cast<const uint8_t*>(values);
        out_.append(bytes, count * sizeof(Value));
    }

    // Appends the flits that were sent since the last exchange, and returns their number. A round is at most as long as
    // the latency.
    uint32_t flits_of(End& end) {
        const Wire& wire = *end.wire;
        uint32_t count = 0;
        uint64_t last = wire.last_kind;
        for (uint64_t slot = begin_of(end, last); slot < last; slot++) {
            if (wire.kind[slot & wire.mask] == IDLE) continue;
            Flit flit{slot, end.number, wire.data[slot & wire.mask], wire.kind[slot & wire.mask], 0};
            append(&flit, 1);
            count++;
        }
        end.told = last;
        return count;
    }
    uint32_t stops_of(End& end) {
        const Wire& wire = *end.wire;
        uint32_t count = 0;
        uint64_t last = wire.last_stop;
        for (uint64_t slot = begin_of(end, last); slot < last; slot++) {
            if (!wire.stop[slot & wire.mask]) continue;
            Flit flit{slot, end.number, 0, wire.stop[slot & wire.mask], 1};
            append(&flit, 1);
            count++;
        }
        end.told = last;
        return count;
    }
    static uint64_t begin_of(const End& end, uint64_t last) {
        return larger(end.told, last - smaller(last, end.wire->latency));
    }

    void take(const uint8_t* bytes, View& view, Turn& turn, List<Event>& events,
              List<Progress>* progress) {
        Head head;
        read(bytes, head);
        view.join(head.view);
        join(turn, head.turn);
        Event event;
        for (uint32_t i = 0; i < head.events; i++) events.push_back(read(bytes, event));
        Flit flit;
        for (uint32_t i = 0; i < head.flits; i++) put(read(bytes, flit));
        Progress unit;
        for (uint32_t i = 0; i < head.units; i++) {
            read(bytes, unit);
            if (progress) (*progress)[unit.unit] = {unit.slot, unit.evaluated, unit.unit, 0};
        }
    }
    template <class Value>
    static Value& read(const uint8_t*& bytes, Value& value) {
        memcpy(&value, bytes, sizeof value);
        bytes += sizeof value;
        return value;
    }

    void put(const Flit& flit) {
        for (End& end : ends_) {
            if (end.number != flit.wire || end.sends == !flit.is_stop) continue;
            Wire& wire = *end.wire;
            uint64_t at = flit.slot & wire.mask;
            if (flit.is_stop) {
                wire.stop[at] = uint8_t(flit.kind);
            } else {
                wire.kind[at] = uint8_t(flit.kind);
                wire.data[at] = flit.data;
            }
            auto& last = flit.is_stop ? wire.last_stop : wire.last_kind;
            last = larger(last.load(), uint64_t(flit.slot + 1));
            end.in.push_back(flit.slot);
            return;
        }
    }

    // No unit looks any more at slots further back than the latency.
    static void clear(End& end, uint64_t first) {
        if (end.in.empty()) return;
        Wire& wire = *end.wire;
        size_t kept = 0;
        for (uint64_t slot : end.in) {
            if (slot + wire.latency >= first)
                end.in[kept++] = slot;
            else
                (end.sends ? wire.stop : wire.kind)[slot & wire.mask] = 0;
        }
        end.in.resize(kept);
    }
};
static_assert(IDLE == 0, "an empty slot");
