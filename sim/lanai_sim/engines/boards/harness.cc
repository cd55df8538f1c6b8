// Boards, each one of a Verilated model, with clocks of their own, cables between their phys, and a host's end of the
// byte FIFO of each. Two have one cable. If PORTS is not 0, each has one to a port of a board that is a switch. Python
// drives them through the C functions at the end (simulated.py).

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "Vlanai_phy_board.h"
#if PORTS
#include "Vlanai_switch_board.h"
#endif
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

struct Part;

// One end of a cable, at a part's pins.
struct End {
    Part* part;
    int port;
    End* far = nullptr;
    uint64_t symbol_at = NEVER;  // when the symbol from the other end is there
    uint16_t symbol = 0;
    uint8_t wires[5] = {0, 1, 2, 3, 4};  // that its pins have: control, data 0 to 3
    uint8_t inverted = 0;                // pins, a bit each

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
};

// What has a clock of its own: a board with a NIC, or one that is a switch.
struct Part {
    uint64_t period, next;  // of its clock, in femtoseconds
    uint64_t slots = 0;
    std::vector<End> ends;

    Part(uint64_t period_, uint64_t phase, int ports) : period(period_), next(phase) {
        for (int port = 0; port < ports; port++) ends.push_back(End{this, port});
    }
    virtual ~Part() = default;
    virtual void clock() = 0;                          // one slot
    virtual uint16_t sent(int port) const = 0;         // what its pins say
    virtual void take(int port, uint16_t symbol) = 0;  // with the clock that comes beside
    virtual bool still() const = 0;

  protected:
    template <class Top>
    static void edge(Top& top, CData& clock) {
        clock = 1;
        top.eval();
        clock = 0;
        top.eval();
    }
    template <class Top>
    static void reset(Top& top) {
        top.rst = 1;
        for (int n = 0; n < 2; n++) edge(top, top.clk);
        top.rst = 0;
        top.eval();
    }
};

struct Board final : Part {
    VerilatedContext context;
    std::unique_ptr<Vlanai_phy_board> top;
    std::deque<uint8_t> to_board, to_host;
    size_t whole = 0;  // bytes of the frames in `to_host` that have come whole
    bool tell_drained = false;

    Board(uint64_t period_, uint64_t phase)
        : Part(period_, phase, 1), top(std::make_unique<Vlanai_phy_board>(&context)) {
        top->host_o___05Fready = 1;
        reset(*top);
    }

    // What the FIFO's outputs say is registered, so they are as they will be at the edge.
    void clock() override {
        bool takes = !to_board.empty() && top->host_i___05Fready;
        top->host_i___05Fvalid = !to_board.empty();
        if (!to_board.empty()) top->host_i___05Fpayload = to_board.front();
        if (top->host_o___05Fvalid) to_host.push_back(top->host_o___05Fpayload);
        edge(*top, top->clk);
        if (takes) to_board.pop_front();
    }
    uint16_t sent(int) const override { return top->o; }
    void take(int, uint16_t symbol) override {
        top->i = symbol;
        edge(*top, top->rx_clk);
    }
    bool still() const override { return top->still && to_board.empty() && to_host.empty(); }
};

#if PORTS
struct Switch final : Part {
    VerilatedContext context;
    std::unique_ptr<Vlanai_switch_board> top;

    Switch(uint64_t period_, uint64_t phase)
        : Part(period_, phase, PORTS), top(std::make_unique<Vlanai_switch_board>(&context)) {
        reset(*top);
    }

    void clock() override { edge(*top, top->clk); }
    uint16_t sent(int port) const override {
#define SENT(n) top->o___05F##n,
        const uint16_t out[] = {EACH_PORT(SENT)};
        return out[port];
    }
    void take(int port, uint16_t symbol) override {
#define INTO(n) &top->i___05F##n,
#define CLOCK(n) &top->rx##n##_clk,
        SData* const into[] = {EACH_PORT(INTO)};
        CData* const clocks[] = {EACH_PORT(CLOCK)};
        *into[port] = symbol;
        edge(*top, *clocks[port]);
    }
    bool still() const override { return top->still; }
};
#endif

struct Network {
    std::vector<std::unique_ptr<Part>> parts;  // the boards, then the switch
    std::vector<Board*> boards;
    std::vector<End*> ends;
    Frames frames;
    uint64_t delay;    // of a cable
    uint64_t settled;  // slots for which all must have been still
    uint64_t still = 0;

    Network(const uint64_t* periods, int count, uint64_t delay_, uint64_t settled_, Frames frames_)
        : frames(frames_), delay(delay_), settled(settled_) {
        for (int n = 0; n < count; n++) {
            parts.push_back(std::make_unique<Board>(periods[n], periods[n] + n * periods[n] / 3));
            boards.push_back(static_cast<Board*>(parts.back().get()));
        }
#if PORTS
        parts.push_back(std::make_unique<Switch>(periods[count], periods[count] + count * periods[count] / 3));
        for (int n = 0; n < count; n++) join(parts[n]->ends[0], parts[count]->ends[n]);
#else
        join(parts[0]->ends[0], parts[1]->ends[0]);
#endif
    }

    void join(End& one, End& other) {
        one.far = &other;
        other.far = &one;
        ends.push_back(&one);
        ends.push_back(&other);
    }

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

    void clock(Part& part) {
        part.clock();
        part.slots++;
        part.next += part.period;
        for (End& end : part.ends) {
            if (!end.far) continue;
            end.far->symbol = part.sent(end.port);
            // The clock that leaves is in the symbol's middle.
            end.far->symbol_at = part.next - part.period / 2 + delay;
        }
    }

    void step() {
        Part* part = parts[0].get();
        for (auto& other : parts)
            if (other->next < part->next) part = other.get();
        End* end = ends[0];
        for (End* other : ends)
            if (other->symbol_at < end->symbol_at) end = other;
        if (end->symbol_at < part->next) {
            end->symbol_at = NEVER;
            end->part->take(end->port, end->through_wires(end->symbol));
            return;
        }
        clock(*part);
        if (part == parts[0].get()) {
            bool quiet = true;
            for (auto& one : parts) quiet &= one->still();
            still = quiet ? still + 1 : 0;
        }
    }

    // To slot `limit` of the first board, or sooner to what the host must see to.
    int32_t run(uint64_t limit) {
        for (;;) {
            for (Board* board : boards) {
                if (has_frame(*board)) return FRAME;
                if (board->tell_drained && board->to_board.empty()) return DRAINED;
            }
            if (boards[0]->slots >= limit) return LIMIT;
            if (still > settled) return STILL;
            step();
        }
    }
};

extern "C" {
#define API __attribute__((visibility("default")))
// `periods`: of the boards' clocks, then of the switch's, if there is one.
API Network* boards_new(const uint64_t* periods, int32_t count, uint64_t delay, uint64_t settled, uint32_t with_address,
                        uint32_t with_words) {
    return new Network(periods, count, delay, settled, Frames{with_address, with_words});
}
API void boards_delete(Network* all) { delete all; }
API int32_t boards_run(Network* all, uint64_t limit) { return all->run(limit); }
API uint64_t boards_slots(Network* all, int32_t board) { return all->boards[board]->slots; }
API uint32_t boards_up(Network* all, int32_t board) { return all->boards[board]->top->up; }
API void boards_rewire(Network* all, int32_t board, const uint8_t* wires, uint32_t inverted) {
    std::copy_n(wires, 5, all->boards[board]->ends[0].wires);
    all->boards[board]->ends[0].inverted = inverted;
}
API void boards_send(Network* all, int32_t board, const uint8_t* data, uint64_t size) {
    auto& queue = all->boards[board]->to_board;
    queue.insert(queue.end(), data, data + size);
    all->still = 0;
}
// How many bytes have not been taken. With `tell`, a run ends when there is none.
API uint64_t boards_untaken(Network* all, int32_t board, int32_t tell) {
    auto& queue = all->boards[board]->to_board;
    all->boards[board]->tell_drained = tell && !queue.empty();
    return queue.size();
}
// The bytes of the frames from a board that have come whole, `most` at most. Returns how many there are.
API uint64_t boards_frames(Network* all, int32_t board, uint8_t* line, uint64_t most) {
    auto& from = *all->boards[board];
    size_t count = std::min<size_t>(from.whole, most);
    std::copy_n(from.to_host.begin(), count, line);
    from.to_host.erase(from.to_host.begin(), from.to_host.begin() + count);
    from.whole -= count;
    return count;
}
}
