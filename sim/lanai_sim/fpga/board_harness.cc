// A board's top with the far end of its line to the host: a serial line, 8N1, or with FT245 the asynchronous FIFO of a
// USB chip whose host is always there; with USB_KHZ the chip has a clock of its own. Python drives it through the C
// functions at the end (board_rtl.py).

#include <cstdint>
#include <deque>
#include <memory>

#include "Vlanai_board.h"
#include "verilated.h"

constexpr uint64_t USB_BYTES = 512;  // that a chip with a clock has for the FPGA; then it has none for a while
constexpr uint64_t BUSY_SLOTS = 6;  // between two bytes, as long as a chip's RXF# and TXE# are inactive

struct Board {
    VerilatedContext context;
    std::unique_ptr<Vlanai_board> top;
    uint32_t divisor;
    uint64_t slots = 0;
    std::deque<uint8_t> received;
    uint32_t age = 0;  // slots since the start bit now arriving began; 0: the line is idle
    uint8_t arriving = 0;

    explicit Board(uint32_t divisor_) : top(std::make_unique<Vlanai_board>(&context)), divisor(divisor_) {
        rest();
        top->rst = 1;
        clock();
        clock();
        top->rst = 0;
        slots = 0;
    }

    void clock() {
        top->clk = 1;
        top->eval();
        top->clk = 0;
        top->eval();
        slots++;
    }

#ifdef FT245
    std::deque<uint8_t> sent;
    uint64_t shut_rxf = 0, shut_txe = 0;  // until when
    bool read = false, wrote = false;

    void rest() { top->fifo___05Frxf = top->fifo___05Ftxe = 0; }

#ifdef USB_KHZ
    uint64_t phase = 0, cycles = 0;

    void slot() {
        clock();
        phase += USB_KHZ;
        if (phase < SLOT_KHZ) return;
        phase -= SLOT_KHZ;
        bool took = top->fifo___05Frd && top->fifo___05Frxf, gave = top->fifo___05Fwr && top->fifo___05Ftxe;
        if (took) sent.pop_front();
        if (gave) received.push_back(top->fifo___05Fdrive && !top->fifo___05Foe ? top->fifo___05Fdata_o : 0xff);
        top->usb_clk = 1;
        top->eval();
        top->usb_clk = 0;
        cycles++;
        bool shut = cycles % USB_BYTES < BUSY_SLOTS;
        top->fifo___05Frxf = !sent.empty() && !shut;
        top->fifo___05Ftxe = !shut;
        bool drives = top->fifo___05Foe && !top->fifo___05Fdrive && !sent.empty();
        top->fifo___05Fdata_i = drives ? sent.front() : 0xff;
        top->eval();
    }

    void send(uint8_t byte) {
        sent.push_back(byte);
        while (sent.size() > USB_BYTES) slot();
    }
#else
    void slot() {
        clock();
        if (read && !top->fifo___05Frd) {
            sent.pop_front();
            shut_rxf = slots + BUSY_SLOTS;
        }
        if (!wrote && top->fifo___05Fwr) {
            received.push_back(top->fifo___05Fdrive ? top->fifo___05Fdata_o : 0xff);
            shut_txe = slots + BUSY_SLOTS;
        }
        read = top->fifo___05Frd;
        wrote = top->fifo___05Fwr;
        top->fifo___05Fdata_i = read && !sent.empty() ? sent.front() : 0xff;
        top->fifo___05Frxf = !read && !sent.empty() && slots >= shut_rxf;
        top->fifo___05Ftxe = slots >= shut_txe;
    }

    void send(uint8_t byte) {
        sent.push_back(byte);
        while (!sent.empty()) slot();
    }
#endif
#else
    void rest() { top->rx = 1; }

    // One slot. What the board says is heard at any time, while a byte is being sent too: bits are sampled in their
    // middle.
    void slot() {
        clock();
        if (age == 0) {
            if (top->tx) return;
            age = 1;
            return;
        }
        uint32_t bit = age / divisor;
        if (age++ % divisor != divisor / 2) return;
        if (bit >= 1 && bit <= 8) arriving = arriving >> 1 | top->tx << 7;
        if (bit == 9) {
            if (top->tx) received.push_back(arriving);
            age = 0;
        }
    }

    void hold(uint8_t level) {
        top->rx = level;
        for (uint32_t n = 0; n < divisor; n++) slot();
    }

    void send(uint8_t byte) {
        hold(0);
        for (int bit = 0; bit < 8; bit++) hold(byte >> bit & 1);
        hold(1);
    }
#endif
};

extern "C" {
#define API __attribute__((visibility("default")))
API Board* board_new(uint32_t divisor) { return new Board(divisor); }
API void board_delete(Board* board) { delete board; }
API void board_send(Board* board, uint8_t byte) { board->send(byte); }
// The next byte, or -1 after `timeout` slots without one.
API int32_t board_receive(Board* board, uint64_t timeout) {
    for (uint64_t n = 0; board->received.empty(); n++) {
        if (n == timeout) return -1;
        board->slot();
    }
    uint8_t byte = board->received.front();
    board->received.pop_front();
    return byte;
}
API uint64_t board_slots(Board* board) { return board->slots; }
API uint32_t board_leds(Board* board) { return board->top->leds; }
}
