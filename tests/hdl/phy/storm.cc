// Two ends of a link, each a Verilated model of link end and phy with a clock of its own, and a cable that does harm.
// Each end sends packets whose route numbers them and whose words follow from that number. What arrives with a right
// CRC must be one of them, whole, and behind the last one. Python drives it through the C functions at the end.

#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "Vlanai_storm.h"
#include "verilated.h"

constexpr uint64_t NEVER = ~0ull;

struct Chance {
    uint64_t state;
    uint64_t next() {
        state ^= state << 13;
        state ^= state >> 7;
        return state ^= state << 17;
    }
    double real() { return (next() >> 11) * 0x1p-53; }
    uint64_t below(uint64_t limit) { return next() % limit; }
};

uint32_t mixed(uint64_t value) {
    value = (value ^ value >> 31) * 0x9e3779b97f4a7c15ull;
    value = (value ^ value >> 29) * 0xbf58476d1ce4e5b9ull;
    return value >> 32;
}

uint32_t word_of(uint32_t number, uint32_t n) { return mixed(uint64_t(number) << 8 | n); }
uint32_t length_of(uint32_t number) { return 1 + mixed(~uint64_t(number)) % 40; }

uint32_t crc32(const std::vector<uint32_t>& words) {
    uint32_t state = ~0u;
    for (uint32_t word : words)
        for (int byte = 24; byte >= 0; byte -= 8) {
            state ^= word >> byte & 0xff;
            for (int bit = 0; bit < 8; bit++) state = state >> 1 ^ (state & 1 ? 0xedb88320u : 0);
        }
    return ~state;
}

struct Counts {
    uint64_t flits = 0, packets = 0, wrong = 0, damaged = 0, bit_errors = 0;
};

struct End {
    VerilatedContext context;
    std::unique_ptr<Vlanai_storm> top;
    uint64_t period, next, slots = 0;
    uint64_t symbol_at = NEVER;
    uint16_t symbol = 0;
    uint32_t number = 0, sent = 0;  // of the packet that is sent, or would be; flits of it
    bool sending = false;
    bool inside = false;
    uint32_t route = 0, last = 0;  // of the packet that comes; of the last sound one
    std::vector<uint32_t> words;
    Counts counts;

    End(uint64_t period_, uint64_t phase)
        : top(std::make_unique<Vlanai_storm>(&context)), period(period_), next(phase) {}

    void offer() {
        if (!sending && top->up) {
            sending = true;
            sent = 0;
            number++;
        }
        uint64_t kind = KIND_DATA, data = 0;
        if (sent == 0) {
            kind = KIND_HEAD;
            data = number;
        } else if (sent <= length_of(number)) {
            data = word_of(number, sent - 1);
        } else {
            kind = KIND_TAIL;
        }
        top->i___05Fvalid = sending;
        top->i___05Fpayload = kind << 32 | data;
    }

    void take(uint64_t flit) {
        uint32_t kind = flit >> 32, data = flit;
        counts.flits++;
        if (kind == KIND_HEAD) {
            inside = true;
            route = data;
            words.clear();
        } else if (kind == KIND_DATA && inside) {
            words.push_back(data);
        } else if (kind == KIND_TAIL && inside) {
            inside = false;
            if (data != crc32(words)) {
                counts.damaged++;
                return;
            }
            bool right = route > last && words.size() == length_of(route);
            for (size_t n = 0; right && n < words.size(); n++) right = words[n] == word_of(route, n);
            counts.packets += right;
            counts.wrong += !right;
            last = route;
        }
    }

    void clock(Chance& chance) {
        if (top->rst) {
            sending = inside = false;
        } else {
            offer();
            top->o___05Fready = chance.below(8) != 0;
            top->eval();
            if (top->o___05Fvalid && top->o___05Fready) take(top->o___05Fpayload);
            if (top->i___05Fvalid && top->i___05Fready && ++sent == length_of(number) + 2) sending = false;
        }
        top->clk = 1;
        top->eval();
        top->clk = 0;
        top->eval();
        slots++;
        next += period;
    }
};

struct Storm {
    End ends[2];
    Chance chance;
    double rate = 0;
    uint64_t until_error = NEVER;  // bits
    bool cut[2] = {false, false};  // the wires into each end
    static constexpr uint64_t DELAY = 3'000'000;

    Storm(uint64_t seed, uint64_t period_a, uint64_t period_b)
        : ends{{period_a, period_a}, {period_b, period_b + period_b / 3}}, chance{seed * 2 + 1} {}

    void set_rate(double rate_) {
        rate = rate_;
        until_error = rate > 0 ? uint64_t(std::log(1 - chance.real()) / std::log1p(-rate)) : NEVER;
    }

    uint16_t noise(End& end) {
        uint16_t found = 0;
        for (; until_error < 10; until_error += 1 + uint64_t(std::log(1 - chance.real()) / std::log1p(-rate))) {
            found |= 1 << until_error;
            end.counts.bit_errors++;
        }
        if (until_error != NEVER) until_error -= 10;
        return found;
    }

    void step() {
        uint64_t times[4] = {ends[0].next, ends[1].next, ends[0].symbol_at, ends[1].symbol_at};
        int first = 0;
        for (int n = 1; n < 4; n++)
            if (times[n] < times[first]) first = n;
        End& end = ends[first & 1];
        if (first < 2) {
            End& other = ends[1 - first];
            end.clock(chance);
            other.symbol = end.top->pins_o;
            other.symbol_at = end.next - end.period / 2 + DELAY;
            return;
        }
        end.symbol_at = NEVER;
        if (cut[first & 1]) {
            end.top->pins_i = chance.next() & 0x3ff;
            return;
        }
        end.top->pins_i = end.symbol ^ noise(end);
        end.top->rx_clk = 1;
        end.top->eval();
        end.top->rx_clk = 0;
        end.top->eval();
    }

    void run(uint64_t slots) {
        for (uint64_t end = ends[0].slots + slots; ends[0].slots < end;) step();
    }
};

extern "C" {
#define API __attribute__((visibility("default")))
API Storm* storm_new(uint64_t seed, uint64_t period_a, uint64_t period_b) {
    return new Storm(seed, period_a, period_b);
}
API void storm_delete(Storm* storm) { delete storm; }
API void storm_run(Storm* storm, uint64_t slots) { storm->run(slots); }
API void storm_rate(Storm* storm, double rate) { storm->set_rate(rate); }
API void storm_cut(Storm* storm, int32_t end, int32_t cut) { storm->cut[end] = cut; }
API void storm_reset(Storm* storm, int32_t end, int32_t reset) { storm->ends[end].top->rst = reset; }
// Flits, sound packets, wrong ones with a right CRC, those with a wrong one, bit errors.
API void storm_counts(Storm* storm, int32_t end, uint64_t* counts) {
    const Counts& one = storm->ends[end].counts;
    for (uint64_t count : {one.flits, one.packets, one.wrong, one.damaged, one.bit_errors}) *counts++ = count;
}
}
