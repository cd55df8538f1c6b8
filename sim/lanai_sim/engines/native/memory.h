// Host memory behind one NIC's bus: pages that are local, or in another process, or refused.
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>


#include "engine.h"

constexpr uint32_t PAGE = 4096;

struct Page {
    uint8_t* local;   // null: in process `pid`
    uint64_t remote;  // its address there
    int32_t pid;
    bool writable;
};

// The pages of a NIC by number: a table of a power of two, in which a page is found from its own place on.
class PageTable {
  public:
    Page* find(uint32_t number) {
        if (!count_) return nullptr;
        Entry& entry = entries_[place(number)];
        return entry.used ? &entry.page : nullptr;
    }
    void set(uint32_t number, const Page& page) {
        if (2 * (count_ + 1) > entries_.size()) grow();
        Entry& entry = entries_[place(number)];
        count_ += !entry.used;
        entry = {number, true, page};
    }
    void erase(uint32_t number) {
        if (!find(number)) return;
        size_t hole = place(number);
        entries_[hole].used = false;
        count_--;
        for (size_t at = next(hole); entries_[at].used; at = next(at)) {  // none of what follows may be cut off
            Entry moved = entries_[at];
            entries_[at].used = false;
            entries_[place(moved.number)] = moved;
        }
    }

  private:
    struct Entry {
        uint32_t number = 0;
        bool used = false;
        Page page{};
    };
    List<Entry> entries_;
    size_t count_ = 0;

    size_t next(size_t at) const { return (at + 1) & (entries_.size() - 1); }
    // Where the page is, or would be.
    size_t place(uint32_t number) const {
        size_t at = number * 0x9E3779B1u & (entries_.size() - 1);
        while (entries_[at].used && entries_[at].number != number) at = next(at);
        return at;
    }
    void grow() {
        List<Entry> before;
        before.swap(entries_);
        entries_.resize(larger<size_t>(64, 2 * before.size()));
        for (Entry& entry : before)
            if (entry.used) entries_[place(entry.number)] = entry;
    }
};

struct Watch {
    uint32_t address, seen, tag;
};

// Words of another process are moved a burst at a time: one system call instead of one a word. A read buffer lives
// until its burst ends or something is written, so that no read is answered with what a write has replaced. The process
// is stopped meanwhile, and `pause` brings its memory up to date before it may run.
class HostMemory {
  public:
    PageTable pages;
    List<Watch> watches;
    uint64_t refused = 0;

    ~HostMemory() {
        for (File& file : files_) close(file.descriptor);
    }

    // One word of a burst of which `words` are left, this one included. False if the access is refused.
    bool read(uint32_t address, uint32_t words, uint32_t* value) {
        Page* page = find(address);
        if (!page) return refuse();
        if (page->local) {
            *value = load(page->local + address % PAGE);
            return true;
        }
        if (address < read_from_ || address >= read_to_ || page->pid != read_pid_) {
            uint32_t size = words * 4;
            if (size > PAGE - address % PAGE) size = PAGE - address % PAGE;
            forget();
            flush();
            if (!move(*page, page->remote + address % PAGE, read_buffer_, size, false)) return refuse();
            read_from_ = address;
            read_to_ = address + size;
            read_pid_ = page->pid;
        }
        *value = load(read_buffer_ + (address - read_from_));
        if (words <= 1) forget();
        return true;
    }

    // `last` of a burst; `hit` gets the tag of a watch whose word this write changed.
    bool write(uint32_t address, uint32_t value, uint8_t be, bool last, uint32_t* hit) {
        Page* page = find(address);
        if (!page || !page->writable) return refuse();
        forget();
        if (page->local) {
            uint8_t* at = page->local + address % PAGE;
            for (int lane = 0; lane < 4; lane++)
                if (be >> (3 - lane) & 1) at[lane] = uint8_t(value >> (24 - 8 * lane));
            for (auto& watch : watches)
                if (watch.address == address && load(at) != watch.seen) *hit = watch.tag;
            return true;
        }
        bool sound = true;
        for (int lane = 0; lane < 4; lane++)
            if (be >> (3 - lane) & 1) {
                uint64_t target = page->remote + address % PAGE + lane;
                if (target != write_at_ + write_size_ || page->pid != write_page_.pid || write_size_ == PAGE) {
                    sound &= flush();
                    write_at_ = target;
                    write_page_ = *page;
                }
                write_buffer_[write_size_++] = uint8_t(value >> (24 - 8 * lane));
            }
        if (last) sound &= flush();
        return sound || refuse();
    }

    void unwatch(uint32_t tag) {
        auto of_tag = [tag](const Watch& watch) { return watch.tag == tag; };
        watches.remove(of_tag);
    }

    // The other processes' memory is as it should be, and may change from now on.
    void pause() {
        flush();
        forget();
    }

  private:
    uint8_t read_buffer_[PAGE], write_buffer_[PAGE];
    uint32_t read_from_ = 0, read_to_ = 0, write_size_ = 0;
    int32_t read_pid_ = 0;
    uint64_t write_at_ = 0;
    Page write_page_{};
    struct File {
        int32_t pid;
        int descriptor;
    };
    List<File> files_;  // /proc/PID/mem, where the system call is refused

    static uint32_t load(const uint8_t* p) { return uint32_t(p[0]) << 24 | p[1] << 16 | p[2] << 8 | p[3]; }

    void forget() { read_from_ = read_to_ = 0; }

    bool refuse() {
        refused++;
        return false;
    }

    Page* find(uint32_t address) {
        return pages.find(address / PAGE);
    }

    bool flush() {
        if (!write_size_) return true;
        bool sound = move(write_page_, write_at_, write_buffer_, write_size_, true);
        write_size_ = 0;
        write_at_ = 0;
        return sound;
    }

    int memory_of(int32_t pid) {
        File* found = files_.find([pid](const File& file) { return file.pid == pid; });
        if (found != files_.end()) return found->descriptor;
        char name[32];
        snprintf(name, sizeof name, "/proc/%d/mem", pid);
        files_.push_back(File{pid, open(name, O_RDWR | O_CLOEXEC)});
        return files_.back().descriptor;
    }

    bool move(const Page& page, uint64_t remote, uint8_t* local, uint32_t size, bool out) {
        iovec here{local, size}, there{reinterpret_cast<void*>(remote), size};
        ssize_t moved = out ? process_vm_writev(page.pid, &here, 1, &there, 1, 0)
                            : process_vm_readv(page.pid, &here, 1, &there, 1, 0);
        if (moved == ssize_t(size)) return true;
        if (moved >= 0 || (errno != EPERM && errno != ENOSYS)) return false;
        const int file = memory_of(page.pid);
        moved = out ? pwrite(file, local, size, off_t(remote)) : pread(file, local, size, off_t(remote));
        return moved == ssize_t(size);
    }
};
