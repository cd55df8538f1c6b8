// A NIC between its wires, with what the host does.
#pragma once

#include "continuations.h"
#include "memory.h"
#include "nic.h"
#include "pio.h"
#include "trace.h"
#include "wave.h"

struct Recorded : OnHeap, List<NicInputs> {};

class alignas(64) NicUnit final : public Unit {
    static constexpr uint64_t NONE = ~0ull;

    // What every slot needs stands first.
    uint64_t host_due_ = NONE;  // slot from which an access of the host may be offered
    Wire *tx_ = nullptr, *rx_ = nullptr;
    uint64_t owed_ = 0;  // slots rested and not yet made known to the model
    uint64_t ended_with_next_ = NONE;  // the slot that the model is in; NONE: none that is told of
    bool irq_ = false, idle_ = false, answer_ = false, error_ = false, reading_ = false, is_offered_ = false;
    uint32_t value_ = 0;
    NicGates gates_;
    Owned<Recorded> recorded_;  // usually none
    NicInputs in_ = NO_INPUTS;  // of this slot, if `is_asked`
    Queue<Pio> pio_;
    Processors processors_;
    uint32_t number_;
    uint64_t offered_ = 0;  // slot since which an access is offered to the NIC

    HostMemory memory;
    Continuations continuations_;
    Wave wave;
    Owned<Tracer> tracer_;  // of a NIC for traces
    bool watched_;  // every slot is looked at

  public:

    NicUnit(uint32_t number, uint64_t slot_khz, const GatesTable& table)
        : gates_(table), processors_(slot_khz), number_(number), continuations_(slot_khz, number, memory),
          tracer_(table.probes ? new Tracer : nullptr), watched_(table.probes || table.signals) {}
    ~NicUnit() {
        if (ended_with_next_ != NONE && wave.within(ended_with_next_)) begin(NO_INPUTS);
        wave.close();
    }

    void join_tx(Wire* wire) { tx_ = wire; }
    void join_rx(Wire* wire) { rx_ = wire; }
    HostMemory& host_memory() { return memory; }
    uint32_t sram(uint32_t address) const {
        return gates_.gates.sram(address);
    }

    uint64_t outside() const { return gates_.outside(); }

    void give_back() {
        processors_.forget_continuations();
        if (continuations_.settled()) return;
        continuations_.give_back();
        plan_host();
    }
    void access(const Pio* accesses, uint32_t count) {
        pio_.append(accesses, count);
        plan_host();
    }
    void program(uint64_t begin, const Burst* bursts, uint32_t count, const uint8_t* data, uint32_t tag,
                 Continuation* continuation) {
        count ? processors_.add(begin, bursts, count, data, tag, continuation)
              : continuations_.begin(*continuation, tag, begin);
        plan_host();
    }

    void advance(uint64_t horizon, bool skip) override {
        gates_.whole(!skip);
        advance_steps(*this, horizon, skip);
    }

    void step(uint64_t horizon) {
        bool asked = RARELY(is_asked());
        if (asked) {
            if (continuations_.due() <= slot) return look_for_continuations();
            begin_asked();
        } else if (tx_->leaves_idle(slot) && rx_->leaves_stops(slot)) {
            return steps_alone(smaller(horizon, host_due_));
        } else {
            gates_.begin_still();
            ended_with_next_ = slot;
        }
        end_step(asked);
    }

    bool quiet() const override {
        return idle_ && !answer_ && !reading_ && host_due_ > slot && rx_->flits_quiet(slot) &&
               tx_->stops_quiet(slot) && tx_->resting(slot) && !wave.within(slot);
    }

    uint64_t wake() const override {
        uint64_t first = host_due_;
        const NicOutputs& m = gates_.outputs();
        if (m.wake_armed) {
            // A time that has passed is one that the NIC is about to see.
            int32_t away = int32_t(uint32_t(m.wake_cycle) - uint32_t(slot >> 1));
            uint64_t timer = away > 2 ? ((slot >> 1) + away) * 2 - 4 : slot;
            if (timer < first) first = timer;
        }
        if (tx_->next(slot) < first) first = tx_->next(slot);
        return wave.next(slot) < first ? wave.next(slot) : first;
    }

    // What these slots do is made known to the model when the rest ends, not in each round of a long one.
    bool rest(uint64_t to) override {
        uint64_t more = to - slot;
        if (!owed_ && more < 3) return false;
        tx_->rest(slot, to);
        rx_->rest_stop(slot, to);
        slot = to;
        owed_ += more;
        return true;
    }

    // One slot is left for the next round if the model could not make up for it with one evaluation.
    bool leap(uint64_t to) override {
        const uint64_t more = to - slot, odd = owed_ % 2;
        if (!odd && more < 3) return false;
        to -= (more + odd + 1) % 2;
        return to > slot && rest(to);
    }

    void pause() override {
        memory.pause();
        gates_.settle();
    }

    // What the host has mapped is the host's to map again.
    bool settled() const override {
return !tracer_ && Unit::settled() && pio_.empty() && processors_.settled() && continuations_.settled() &&
               memory.watches.empty() && !recorded_ && wave.from == NONE;
    }
    void save(StateWriter& to) override { state(to); }
    void restore(StateReader& from) override {
        state(from);
        gates_.gates.trim();
        plan_host();
    }

    // `signals`: those of the table. False if the file cannot be written, or there are none.
    bool open_wave(const char* file, const WaveSignal* signals, uint32_t count, const char* header, uint64_t from,
                   uint64_t to, uint64_t half_slot_ps) {
        return gates_.gates.table.signals && wave.open(file, {signals, count}, header, from, to, half_slot_ps);
    }
    void record() { recorded_.reset(new Recorded); }
    const List<NicInputs>* recorded() const { return recorded_.get(); }
    // Evaluate the model with nothing around it.
    void bare(uint64_t slots) {
        for (uint64_t i = 0; i < slots; i++) gates_.step_still();
    }
    Tracer& traced() { return *tracer_; }

  private:
    template <class Direction>
    void state(Direction& way) {
        gates_.state(way);
        pass(way, slot);
        pass(way, evaluated);
        pass(way, irq_);
        pass(way, memory.refused);
        bool* const flags[] = {&idle_, &answer_, &error_, &reading_, &is_offered_};
        for (bool* flag : flags) pass(way, *flag);
        pass(way, value_);
        uint64_t* const counts[] = {&offered_, &owed_, &ended_with_next_};
        for (uint64_t* count : counts) pass(way, *count);
    }

    void plan_host() {
        host_due_ = smaller(processors_.due(), continuations_.due());
        if (!pio_.empty()) host_due_ = smaller(host_due_, pio_.front().slot);
    }

    // Inputs of this slot may ask for something, or somebody looks at it.
    bool is_asked() const {
        return watched_ || owed_ || answer_ || reading_ || host_due_ <= slot || !rx_->flits_quiet(slot) ||
               !tx_->stops_quiet(slot) || recorded_;
    }

    // An output of the slot that the model is in does something.
    bool outputs_ask() {
        const NicOutputs& m = gates_.outputs();
        return m.tx_kind | m.rx_stop | m.mem_valid | (m.irq ^ irq_) | m.idle;
    }

    // Slots up to `until`, in which nothing asks and no wire is to be written, up to one in which an output does
    // something. What others put in before `until` arrives no sooner than it.
    void steps_alone(uint64_t until) {
        uint64_t at = slot;
        bool asks = outputs_ask();
        while (true) {
            at += gates_.begin_still(asks ? 1 : until - at) - 1;
            asks = outputs_ask();
            if (RARELY(asks)) break;
            if (++at == until) break;
        }
        bool unseen = at < until;  // what the last slot did
        evaluated += at - slot;
        slot = at;
        ended_with_next_ = at - !unseen;
        if (unseen) return end_step(false);
        answer_ = idle_ = false;
    }

    // The model is in a slot whose outputs were not looked at.
    void end_step(bool asked) {
        const NicOutputs& m = gates_.outputs();
        tx_->put(slot, m.tx_kind, m.tx_data);
        rx_->put_stop(slot, m.rx_stop);
        if (RARELY(!!tracer_)) tracer_->sends(slot, m.tx_kind, m.tx_data);
        if (RARELY(!!tracer_)) tracer_->receives(slot, in_.rx_kind, in_.rx_data);
        answer_ = m.mem_valid;
        if (RARELY(answer_)) answer_memory();
        if (RARELY(asked)) programmed_io();
        if (RARELY(m.irq != irq_)) interrupt();
        slot++;
        evaluated++;
        idle_ = m.idle && (!asked || ::quiet(in_));
    }

    // Just before this slot, which is not begun.
    RARE void look_for_continuations() {
        continuations_.look(slot, events);
        plan_host();
    }

    RARE void begin_asked() {
        if (owed_) catch_up();
        if (processors_.due() <= slot) {
            processors_.admit(slot, pio_);
            plan_host();
        }
        in_ = inputs();
        begin(in_);
        ended_with_next_ = slot;
    }

    void begin(const NicInputs& in) {
        if (recorded_) recorded_->push_back(in);
        gates_.begin(in);
        if (ended_with_next_ == NONE) return;
        if (tracer_) tracer_->look(ended_with_next_, gates_.probes());
        wave.dump(&gates_.outputs(), ended_with_next_);
    }

    // One slot in which nothing happens is evaluated for any even number of those left out.
    void catch_up() {
        const uint64_t evaluate = 2 - owed_ % 2;
        NicInputs in = NO_INPUTS;
        in.left_out = owed_ - evaluate;
        begin(in);
        ended_with_next_ = NONE;
        if (evaluate == 2) begin(NO_INPUTS);
        owed_ = 0;
        evaluated += evaluate;
    }

    // Of this slot. They depend on nothing that the NIC puts out in it. What is not valid is 0.
    NicInputs inputs() {
        NicInputs in = NO_INPUTS;
        uint64_t before = slot - tx_->latency;  // slots before the first wrap around to slots never written: idle
        in.rx_kind = rx_->kind[before & rx_->mask];
        if (in.rx_kind != IDLE) in.rx_data = rx_->data[before & rx_->mask];
        in.tx_stop = tx_->stop[before & tx_->mask];
        if (answer_) {
            in.mem_rvalid = 1;
            in.mem_rdata = value_;
            in.mem_rerror = error_;
        }
        if (reading_ || pio_.empty() || pio_.front().slot > slot) return in;
        const Pio& access = pio_.front();
        in.pio_valid = 1;
        in.pio_write = uint8_t(access.write);
        in.pio_addr = access.address;
        in.pio_wdata = access.data;
        in.pio_be = uint8_t(access.be);
        return in;
    }

    // A beat taken in this slot is answered in the next.
    RARE void answer_memory() {
        const NicOutputs& m = gates_.outputs();
        if (RARELY(!!tracer_)) tracer_->master(slot, m.mem_write, m.mem_addr, m.mem_be, m.mem_burst <= 1);
        uint32_t hit = 0;
        if (m.mem_write) {
            error_ =
                !memory.write(m.mem_addr, m.mem_wdata, m.mem_be, m.mem_burst <= 1, &hit);
        } else {
            value_ = 0xDEADDEAD;
            error_ = !memory.read(m.mem_addr, m.mem_burst, &value_);
        }
        if (RARELY(hit)) tell(hit);
    }

    void tell(uint32_t tag) {
        if (continuations_.told(tag, slot + 1, events)) return plan_host();
        events.push_back({slot + 1, WATCH, number_, tag, 0});
    }

    // The access that stands at the NIC in this slot, if one does, or the answer to one that was read.
    RARE void programmed_io() {
        const NicOutputs& m = gates_.outputs();
        if (reading_ && m.pio_rvalid) {  // the next access is offered in the next slot
            if (RARELY(!!tracer_)) tracer_->pio(offered_, slot + 1, false, pio_.front().address, 15);
            performed(m.pio_rdata);
            reading_ = false;
        }
        if (!in_.pio_valid) return;
        const Pio& access = pio_.front();
        if (!is_offered_) offered_ = slot;
        is_offered_ = true;
        if (!m.pio_ready) return;
        is_offered_ = false;
        if (!access.write) {
            reading_ = true;
            return;
        }
        if (RARELY(!!tracer_)) tracer_->pio(offered_, slot + 1, true, access.address, uint8_t(access.be));
        performed(0);
    }

    RARE void interrupt() {
        irq_ = !irq_;
        if (irq_) events.push_back({slot, IRQ, number_, 0, 0});
    }

    // The access at the front was, in this slot.
    void performed(uint32_t value) {
        Pio access = pio_.front();
        pio_.pop_front();
        Continuation* continuation = nullptr;
        uint32_t tag = access.program ? processors_.done(access.program, slot + 1, &continuation) : access.tag;
        if (continuation) continuations_.begin_after(*continuation, tag, slot + 1);
        plan_host();
        if (tag && !continuation) events.push_back({slot + 1, PIO_DONE, number_, tag, value});
    }
};
