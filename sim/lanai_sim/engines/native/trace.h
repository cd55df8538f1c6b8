// What a traced NIC tells, slot by slot, as rows for Python to take. Only an engine built for it has this; it looks and
// touches nothing.
#pragma once
#include <stdint.h>

#include "declared.h"

struct Spread {  // bit i of the index becomes 1 << 12 * i: five counts in one word
    uint64_t of[32];
    constexpr Spread() : of() {
        for (int n = 0; n < 32; n++)
            for (int i = 0; i < 5; i++)
                if (n >> i & 1) of[n] |= 1ull << 12 * i;
    }
};
constexpr Spread SPREAD{};

enum : uint8_t { ENGINE_HOST_READ = 0, ENGINE_HOST_WRITE = 1, ENGINE_SEND = 2, ENGINE_RECEIVE = 3 };
enum : uint8_t { STATE_RUN = 0, STATE_WAIT = 1, STATE_HELD = 2 };

constexpr uint32_t HEADER_WORDS = sizeof PacketOutRow::header / sizeof(uint32_t);

class Tracer : public OnHeap {
  public:
    List<PacketOutRow> packets_out;
    List<PacketInRow> packets_in;
    List<DmaRow> dma;
    List<ProcessorRow> processor;
    List<TouchRow> touches;
    List<LbusRow> lbus;
    List<HostBusRow> host_bus;
    List<BlockRow> blocks;
    List<TouchRange> ranges;
    List<uint16_t> lines;  // by pc / 4: a number for the source line, so that its instructions become one row

    uint64_t bytes() const {
        return packets_out.size() * sizeof(PacketOutRow) + packets_in.size() * sizeof(PacketInRow) +
               dma.size() * sizeof(DmaRow) + processor.size() * sizeof(ProcessorRow) +
               touches.size() * sizeof(TouchRow) + lbus.size() * sizeof(LbusRow) +
               host_bus.size() * sizeof(HostBusRow) + blocks.size() * sizeof(BlockRow);
    }

    // The link, as seen at this NIC's end.
    void sends(uint64_t slot, uint8_t kind, uint32_t data) {
        if (kind == HEAD) {
            out_ = PacketOutRow{};
            out_.route = data;
            out_.head = slot;
        } else if (kind == DATA) {
            if (out_.words < HEADER_WORDS) out_.header[out_.words] = data;
            out_.words++;
        } else if (kind == TAIL) {
            out_.tail = slot + 1;
            packets_out.push_back(out_);
        }
    }
    void receives(uint64_t slot, uint8_t kind, uint32_t data) {
        if (kind == HEAD) {
            in_ = PacketInRow{};
            in_.head = slot;
        } else if (kind == DATA) {
            if (in_.words < HEADER_WORDS) in_.header[in_.words] = data;
            in_.words++;
        } else if (kind == TAIL) {
            in_.tail = slot + 1;
            packets_in.push_back(in_);
        }
    }

    // The host bus: what follows at once, at the next address, belongs to the same transaction.
    void master(uint64_t slot, bool write, uint32_t address, uint8_t be, bool last) {
        uint32_t bytes = uint32_t(__builtin_popcount(be & 15));
        if (!burst_open_) {
            burst_ = HostBusRow{0, write, address + (write ? lead(be) : 0), 0, slot, 0};
            burst_open_ = true;
        }
        burst_.bytes += write ? bytes : 4;
        burst_.end = slot + 1;
        if (last) {
            host_bus.push_back(burst_);
            burst_open_ = false;
        }
    }
    void pio(uint64_t begin, uint64_t end, bool write, uint32_t address, uint8_t be) {
        uint32_t bytes = uint32_t(__builtin_popcount(be & 15));
        if (pio_.bytes && pio_.write == write && write && pio_.address + pio_.bytes == address &&
            begin <= pio_.end + 1) {
            pio_.bytes += bytes;
            pio_.end = end;
            return;
        }
        end_pio();
        pio_ = HostBusRow{1, write, address + lead(be), bytes, begin, end};
    }

    // After slot `slot` was evaluated: the probes tell of it.
    void look(uint64_t slot, const NicProbes& m) {
        if (slot < next_) return;  // `finish` has counted it
        if (slot != next_) pass(slot);
        next_ = slot + 1;
        count_lbus(slot, m.used, m.waited);
        watch_engines(slot, m);
        watch_processor(slot, m);
        for (uint64_t rest = m.blocks; rest; rest &= rest - 1)
            blocks.push_back({uint8_t(__builtin_ctzll(rest)), slot});
    }

    // All up to `slot` has been told.
    void finish(uint64_t slot) {
        if (slot > next_) pass(slot);
        next_ = slot;
        if (pending_ || row_.slots || row_.count) {
            row_.slots += pending_;
            pending_ = 0;
            end_row();
        }
        if (window_used_ | window_waited_) end_window();
        end_pio();
    }

  private:
    struct Posted {
        uint64_t slot;
        uint8_t engine, flags;
        uint32_t local, host, bytes;
    };
    PacketOutRow out_{};
    PacketInRow in_{};
    HostBusRow burst_{}, pio_{};
    bool burst_open_ = false;
    Queue<Posted> host_queue_, send_queue_;
    uint64_t receive_begin_ = 0;
    bool receive_busy_ = false;
    uint64_t next_ = 0;
    ProcessorRow row_{};
    uint16_t line_ = 0xFFFF;
    uint32_t pending_ = 0, pending_stalled_ = 0;
    uint64_t window_ = 0, window_used_ = 0, window_waited_ = 0;
    uint32_t last_index_ = ~0u, last_kind_ = ~0u;
    uint64_t last_slot_ = 0;

    static constexpr uint64_t WINDOW = 1024;
    static uint32_t lead(uint8_t be) { return be & 8 ? 0 : be & 4 ? 1 : be & 2 ? 2 : 3; }

    void end_pio() {
        if (pio_.bytes) host_bus.push_back(pio_);
        pio_.bytes = 0;
    }

    // Slots that were left out: nothing happened, and the processor did what it did.
    void pass(uint64_t slot) {
        uint64_t left = slot - next_;
        if (row_.state == STATE_RUN) {
            pending_ += uint32_t(left);
            return;
        }
        while (left) {
            uint32_t part = uint32_t(left < 0x40000000 ? left : 0x40000000);
            row_.slots += part;
            left -= part;
            if (left) end_row();
        }
    }

    void count_lbus(uint64_t slot, uint32_t used, uint32_t waited) {
        if (slot - window_ >= WINDOW) {
            if (window_used_ | window_waited_) end_window();
            window_ = slot / WINDOW * WINDOW;
        }
        window_used_ += SPREAD.of[used & 31];
        window_waited_ += SPREAD.of[waited & 31];
    }
    void end_window() {
        LbusRow row{};
        row.slots = uint32_t(next_ - window_ < WINDOW ? next_ - window_ : WINDOW);
        row.begin = window_;
        for (int i = 0; i < 5; i++) {
            row.used[i] = uint32_t(window_used_ >> 12 * i & 0xFFF);
            row.waited[i] = uint32_t(window_waited_ >> 12 * i & 0xFFF);
        }
        lbus.push_back(row);
        window_used_ = window_waited_ = 0;
    }
    void watch_engines(uint64_t slot, const NicProbes& m) {
        if (m.host_post)
            host_queue_.push_back({slot, m.host_to_host ? ENGINE_HOST_WRITE : ENGINE_HOST_READ, 0,
                                   m.host_local, m.host_address, m.host_length});
        if (m.host_done && !host_queue_.empty()) done(host_queue_, slot, m.host_error);
        if (m.send_post)
            send_queue_.push_back({slot, ENGINE_SEND, uint8_t(m.send_first | m.send_last << 1),
                                   m.send_pointer, 0, m.send_length});
        if (m.send_done && !send_queue_.empty()) done(send_queue_, slot, 0);
        if (m.receive_busy && !receive_busy_) {
            receive_busy_ = true;
            receive_begin_ = slot;
        }
        if (m.receive_done) {
            dma.push_back({ENGINE_RECEIVE, uint8_t(m.receive_verdict), m.receive_start, 0,
                           uint32_t(m.receive_pointer - m.receive_start), receive_begin_, slot + 1});
            receive_busy_ = false;
        }
    }
    void done(Queue<Posted>& queue, uint64_t slot, uint8_t error) {
        const Posted& first = queue.front();
        uint8_t flags = uint8_t(first.flags | error << 7);
        dma.push_back({first.engine, flags, first.local, first.host, first.bytes, first.slot, slot + 1});
        queue.pop_front();
    }

    void watch_processor(uint64_t slot, const NicProbes& m) {
        if (!m.run || m.waits) {
            uint8_t state = m.run ? STATE_WAIT : STATE_HELD;
            if (row_.state != state) enter(state);
            row_.slots++;
            return;
        }
        if (row_.state != STATE_RUN) enter(STATE_RUN);
        pending_++;
        pending_stalled_ += m.waited >> 4 & 1;
        if (!m.retired) return;
        uint32_t pc = m.pc;
        uint16_t line = pc / 4 < lines.size() ? lines[pc / 4] : 0xFFFF;
        if (!row_.count || line != line_ || row_.count == 0xFFFF) {
            if (row_.count) end_row();
            row_.pc = pc;
            line_ = line;
        }
        row_.slots += pending_;
        row_.stalled += pending_stalled_;
        row_.count++;
        pending_ = pending_stalled_ = 0;
        if (m.access) touch(slot, m.address, m.store, m.value);
    }
    void enter(uint8_t state) {
        row_.slots += pending_;
        row_.stalled += pending_stalled_;
        pending_ = pending_stalled_ = 0;
        if (row_.slots) end_row();
        row_.state = state;
    }
    void end_row() {
        processor.push_back(row_);
        uint8_t state = row_.state;
        row_ = ProcessorRow{};
        row_.state = state;
    }
    void touch(uint64_t slot, uint32_t address, bool store, uint32_t value) {
        for (const TouchRange& range : ranges) {
            if (address < range.begin || address >= range.end) continue;
            uint32_t index = range.number + (address - range.begin) / range.stride,
                     within = (address - range.begin) % range.stride;
            if (within < range.first || within >= range.last) return;
            // The last word of a request slot is its command: an empty one means that there is no request.
            if (range.kind == TOUCH_SLOT && (store || (within + 4 >= range.last && !(value >> 24)))) return;
            if (index == last_index_ && range.kind == last_kind_ && slot - last_slot_ < 256) return;
            last_slot_ = slot;
            last_index_ = index;
            last_kind_ = range.kind;
            touches.push_back({uint8_t(range.kind), index, slot});
            return;
        }
    }
};
