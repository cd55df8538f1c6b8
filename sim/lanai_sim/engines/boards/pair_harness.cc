// Two boards, each one of a Verilated model, with clocks of their own, a cable between their phys, and a host's end of
// the byte FIFO of each. Python drives them through the C functions at the end (pair.py).

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>

#include "Vlanai_phy_board.h"
#include "verilated.h"

constexpr uint64_t NEVER = ~0ull;

enum Stop : int32_t { LIMIT = 0, FRAME = 1, DRAINED = 2, STILL = 3 };

// How long a frame is, by its first two bytes: kinds with an address and with words, a bit each.
struct Frames {
    uint32_t with_address, with_words;

    size_t size(uint8_t kind, uint8_t words) const {
        kind >>= 4;
        return 2 + 4 * (with_address >> kind & 1) + 4 * words * (with_words >> kind & 1);
    }
};

struct Board {
    VerilatedContext context;
    std::unique_ptr<Vlanai_phy_board> top;
    uint64_t period, next;  // of its clock, in femtoseconds
    uint64_t slots = 0;
    uint64_t symbol_at = NEVER;  // when the symbol from the other board is there
    uint16_t symbol = 0;
    uint8_t wires[5] = {0, 1, 2, 3, 4};  // that its pins have: control, data 0 to 3
    uint8_t inverted = 0;                // pins, a bit each
    std::deque<uint8_t> to_board, to_host;
    size_t whole = 0;  // bytes of the frames in `to_host` that have come whole
    bool tell_drained = false;

    Board(uint64_t period_, uint64_t phase)
        : top(std::make_unique<Vlanai_phy_board>(&context)), period(period_), next(phase) {
        top->host_o___05Fready = 1;
        top->rst = 1;
        for (int n = 0; n < 2; n++) {
            top->clk = 1;
            top->eval();
            top->clk = 0;
            top->eval();
        }
        top->rst = 0;
        top->eval();
    }

    // One slot. What the FIFO's outputs say is registered, so they are as they will be at the edge.
    void clock() {
        bool takes = !to_board.empty() && top->host_i___05Fready;
        top->host_i___05Fvalid = !to_board.empty();
        if (!to_board.empty()) top->host_i___05Fpayload = to_board.front();
        if (top->host_o___05Fvalid) to_host.push_back(top->host_o___05Fpayload);
        top->clk = 1;
        top->eval();
        top->clk = 0;
        top->eval();
        if (takes) to_board.pop_front();
        slots++;
        next += period;
    }

    // A symbol as the pins have it. Of each half, control comes first.
    uint16_t through_wires(uint16_t sent) const {
        uint16_t found = 0;
        for (int half = 0; half < 2; half++)
            for (int pin = 0; pin < 5; pin++) {
                int wire = wires[pin];
                int from = wire ? 4 * half + wire - 1 : 8 + half, to = pin ? 4 * half + pin - 1 : 8 + half;
                found |= ((sent >> from & 1) ^ (inverted >> pin & 1)) << to;
            }
        return found;
    }

    void take_symbol() {
        top->i = through_wires(symbol);
        symbol_at = NEVER;
        top->rx_clk = 1;
        top->eval();
        top->rx_clk = 0;
        top->eval();
    }
};

struct Pair {
    Board boards[2];
    Frames frames;
    uint64_t delay;  // of the cable
    uint64_t settled;  // slots for which both must have been still
    uint64_t still = 0;

    Pair(uint64_t period_a, uint64_t period_b, uint64_t delay_, uint64_t settled_, Frames frames_)
        : boards{{period_a, period_a}, {period_b, period_b + period_b / 3}}, frames(frames_), delay(delay_),
          settled(settled_) {}

    // Whether a frame has come whole since the host last looked.
    bool has_frame(Board& board) {
        auto& came = board.to_host;
        while (came.size() >= board.whole + 2) {
            size_t size = frames.size(came[board.whole], came[board.whole + 1]);
            if (came.size() < board.whole + size) break;
            board.whole += size;
        }
        return board.whole != 0;
    }

    void clock(int which) {
        Board& board = boards[which];
        Board& other = boards[1 - which];
        board.clock();
        other.symbol = board.top->o;
        other.symbol_at = board.next - board.period / 2 + delay;  // the clock that leaves is in the symbol's middle
    }

    void step() {
        uint64_t times[4] = {boards[0].next, boards[1].next, boards[0].symbol_at, boards[1].symbol_at};
        int first = 0;
        for (int n = 1; n < 4; n++)
            if (times[n] < times[first]) first = n;
        if (first < 2)
            clock(first);
        else
            boards[first - 2].take_symbol();
        if (first == 0) {
            bool quiet = true;
            for (auto& board : boards) quiet &= board.top->still && board.to_board.empty() && board.to_host.empty();
            still = quiet ? still + 1 : 0;
        }
    }

    // To slot `limit` of the first board, or sooner to what the host must see to.
    int32_t run(uint64_t limit) {
        for (;;) {
            for (auto& board : boards) {
                if (has_frame(board)) return FRAME;
                if (board.tell_drained && board.to_board.empty()) return DRAINED;
            }
            if (boards[0].slots >= limit) return LIMIT;
            if (still > settled) return STILL;
            step();
        }
    }
};

extern "C" {
#define API __attribute__((visibility("default")))
API Pair* pair_new(uint64_t period_a, uint64_t period_b, uint64_t delay, uint64_t settled, uint32_t with_address,
                   uint32_t with_words) {
    return new Pair(period_a, period_b, delay, settled, Frames{with_address, with_words});
}
API void pair_delete(Pair* pair) { delete pair; }
API int32_t pair_run(Pair* pair, uint64_t limit) { return pair->run(limit); }
API uint64_t pair_slots(Pair* pair, int32_t board) { return pair->boards[board].slots; }
API uint32_t pair_up(Pair* pair, int32_t board) { return pair->boards[board].top->up; }
API void pair_rewire(Pair* pair, int32_t board, const uint8_t* wires, uint32_t inverted) {
    std::copy_n(wires, 5, pair->boards[board].wires);
    pair->boards[board].inverted = inverted;
}
API void pair_send(Pair* pair, int32_t board, const uint8_t* data, uint64_t size) {
    auto& queue = pair->boards[board].to_board;
    queue.insert(queue.end(), data, data + size);
    pair->still = 0;
}
// How many bytes have not been taken. With `tell`, a run ends when there is none.
API uint64_t pair_untaken(Pair* pair, int32_t board, int32_t tell) {
    auto& queue = pair->boards[board].to_board;
    pair->boards[board].tell_drained = tell && !queue.empty();
    return queue.size();
}
// The bytes of the frames from a board that have come whole, `most` at most. Returns how many there are.
API uint64_t pair_frames(Pair* pair, int32_t board, uint8_t* line, uint64_t most) {
    auto& from = pair->boards[board];
    size_t count = std::min<size_t>(from.whole, most);
    std::copy_n(from.to_host.begin(), count, line);
    from.to_host.erase(from.to_host.begin(), from.to_host.begin() + count);
    from.whole -= count;
    return count;
}
}
