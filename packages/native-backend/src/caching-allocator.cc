// A caching allocator for large buffers, those of tensors and of JavaScript's arrays, put before the C library's by LD_PRELOAD.
//
// TensorFlow's own allocator and the C library's keep what is freed, in holes that the next tensors do not fit into; told to return it at once,
// the C library makes every page of a new tensor cost a page fault. Here buffers come from one range of addresses, best fit, and free
// neighbours are joined. Free pages stay resident for the next tensor as long as all resident ones are not more than the most that was in use
// at once, and some; beyond that, those that were freed longest ago go back to the system.

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <utility>

namespace {

// What is smaller is left to the C library: of what is aligned, as tensors are, and of the rest.
constexpr size_t kSmallestTensorBytes = 64 << 10;
constexpr size_t kSmallestBytes = 1 << 20;
// Free pages that may stay resident: a sixth of the most that was in use at once, and a constant. With a tenth, holes alone are more than that, and
// each step purges pages only to have them back.
constexpr size_t kCacheDivisor = 6;
constexpr size_t kCacheBytes = 48 << 20;

template <typename T>
T* MapZeros(size_t count) {
  void* at = mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return at == MAP_FAILED ? nullptr : static_cast<T*>(at);
}

// Blocks of whole pages. Pages are counted from the beginning of the range.
class Pool {
 public:
  // Reserves as many addresses as the machine has memory, and no memory. Without them every allocation is refused.
  Pool() : page_bytes_(sysconf(_SC_PAGESIZE)), pages_(sysconf(_SC_PHYS_PAGES)) {
    is_resident_ = MapZeros<uint8_t>(pages_);
    if (is_resident_ == nullptr) return;
    begin_ = MapZeros<char>(pages_ * page_bytes_);
    if (begin_ == nullptr) return;
    end_ = begin_ + pages_ * page_bytes_;
    AddFree(0, {pages_, 0});
  }

  bool Contains(const void* pointer) const { return pointer >= begin_ && pointer < end_; }

  // Null where there is no room. `zeroed` are those bytes, from the beginning on, that are to be zero.
  void* Allocate(size_t alignment, size_t bytes, size_t zeroed = 0) {
    if (alignment > page_bytes_ || bytes > pages_ * page_bytes_) return nullptr;
    const size_t need = (bytes + page_bytes_ - 1) / page_bytes_;
    std::unique_lock<std::mutex> lock(mutex_);
    const auto found = by_size_.lower_bound({need, 0});
    if (found == by_size_.end()) return nullptr;
    const size_t first = found->second;
    const Block block = TakeFree(free_.find(first));
    if (block.pages > need) AddFree(first + need, {block.pages - need, block.freed_at});
    used_[first] = need;
    in_use_ += need;
    most_in_use_ = std::max(most_in_use_, in_use_);
    char* const pointer = begin_ + first * page_bytes_;
    const bool is_new = MakeResident(first, need);
    lock.unlock();
    if (!is_new) memset(pointer, 0, zeroed);
    return pointer;
  }

  void Free(void* pointer) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = used_.find(PageOf(pointer));
    if (found == used_.end()) return;
    size_t first = found->first;
    size_t pages = found->second;
    used_.erase(found);
    in_use_ -= pages;
    auto next = free_.lower_bound(first);
    if (next != free_.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second.pages == first) {
        first = before->first;
        pages += TakeFree(before).pages;
      }
    }
    if (next != free_.end() && next->first == first + pages) pages += TakeFree(next).pages;
    AddFree(first, {pages, ++clock_});
  }

  size_t UsableBytes(const void* pointer) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = used_.find(PageOf(pointer));
    return found == used_.end() ? 0 : found->second * page_bytes_;
  }

 private:
  struct Block {
    size_t pages;
    uint64_t freed_at;
  };
  using FreeBlocks = std::map<size_t, Block>;

  size_t PageOf(const void* pointer) const { return (static_cast<const char*>(pointer) - begin_) / page_bytes_; }

  void AddFree(size_t first, Block block) {
    free_.emplace(first, block);
    by_size_.emplace(block.pages, first);
    by_age_.emplace(block.freed_at, first);
  }

  Block TakeFree(FreeBlocks::iterator at) {
    const Block block = at->second;
    by_size_.erase({block.pages, at->first});
    by_age_.erase({block.freed_at, at->first});
    free_.erase(at);
    return block;
  }

  // A block is about to be written to: makes room for those of its pages that are not resident. Returns whether none is.
  bool MakeResident(size_t first, size_t pages) {
    const size_t more = std::count(is_resident_ + first, is_resident_ + first + pages, 0);
    if (more == 0) return false;
    const size_t limit = most_in_use_ + most_in_use_ / kCacheDivisor + kCacheBytes / page_bytes_;
    if (resident_ + more > limit) Purge(resident_ + more - limit);
    memset(is_resident_ + first, 1, pages);
    resident_ += more;
    touched_ = std::max(touched_, first + pages);
    return more == pages;
  }

  // Gives at least so many free pages back to the system, if there are as many.
  void Purge(size_t wanted) {
    size_t purged = 0;
    for (const auto& [freed_at, first] : by_age_) {
      if (purged >= wanted) return;
      // Nothing from `touched_` on has been resident yet.
      const size_t end = std::min(first + free_.at(first).pages, touched_);
      for (size_t page = first; page < end && purged < wanted;) {
        uint8_t* const from = std::find(is_resident_ + page, is_resident_ + end, 1);
        uint8_t* const to = std::find(from, std::min(is_resident_ + end, from + (wanted - purged)), 0);
        page = to - is_resident_;
        if (from == to) break;
        if (madvise(begin_ + (from - is_resident_) * page_bytes_, (to - from) * page_bytes_, MADV_DONTNEED) != 0) return;
        std::fill(from, to, 0);
        resident_ -= to - from;
        purged += to - from;
      }
    }
  }

  const size_t page_bytes_;
  const size_t pages_;
  char* begin_ = nullptr;
  char* end_ = nullptr;
  uint8_t* is_resident_ = nullptr;
  std::mutex mutex_;
  FreeBlocks free_;
  // Free blocks by size, and by when they were freed, with their first page.
  std::set<std::pair<size_t, size_t>> by_size_;
  std::set<std::pair<uint64_t, size_t>> by_age_;
  std::map<size_t, size_t> used_;
  size_t in_use_ = 0;
  size_t most_in_use_ = 0;
  size_t resident_ = 0;
  size_t touched_ = 0;
  uint64_t clock_ = 0;
};

// Never destroyed: buffers are freed until the very end of the process.
Pool& pool() {
  static Pool* const pool = new Pool;
  return *pool;
}

void* AllocateTensor(size_t alignment, size_t bytes) {
  return bytes < kSmallestTensorBytes ? nullptr : pool().Allocate(alignment, bytes);
}

}  // namespace

extern "C" {

// The C library's own functions, by the names that need no looking up, which might itself allocate.
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* pointer, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void* pointer);

void* malloc(size_t bytes) {
  void* const pointer = bytes < kSmallestBytes ? nullptr : pool().Allocate(1, bytes);
  return pointer != nullptr ? pointer : __libc_malloc(bytes);
}

void* calloc(size_t count, size_t bytes) {
  size_t all;
  if (__builtin_mul_overflow(count, bytes, &all) || all < kSmallestBytes) return __libc_calloc(count, bytes);
  void* const pointer = pool().Allocate(1, all, all);
  return pointer != nullptr ? pointer : __libc_calloc(count, bytes);
}

void* aligned_alloc(size_t alignment, size_t bytes) {
  void* const pointer = AllocateTensor(alignment, bytes);
  return pointer != nullptr ? pointer : __libc_memalign(alignment, bytes);
}

int posix_memalign(void** result, size_t alignment, size_t bytes) {
  if (alignment < sizeof(void*) || (alignment & (alignment - 1)) != 0) return EINVAL;
  void* const pointer = aligned_alloc(alignment, bytes);
  if (pointer == nullptr) return ENOMEM;
  *result = pointer;
  return 0;
}

void free(void* pointer) {
  if (pool().Contains(pointer)) {
    pool().Free(pointer);
  } else {
    __libc_free(pointer);
  }
}

void* realloc(void* pointer, size_t bytes) {
  if (!pool().Contains(pointer)) return __libc_realloc(pointer, bytes);
  void* const moved = malloc(bytes);
  if (moved == nullptr) return nullptr;
  memcpy(moved, pointer, std::min(bytes, pool().UsableBytes(pointer)));
  pool().Free(pointer);
  return moved;
}

void* reallocarray(void* pointer, size_t count, size_t bytes) {
  size_t all;
  if (!__builtin_mul_overflow(count, bytes, &all)) return realloc(pointer, all);
  errno = ENOMEM;
  return nullptr;
}

size_t malloc_usable_size(void* pointer) {
  if (pool().Contains(pointer)) return pool().UsableBytes(pointer);
  static const auto next = reinterpret_cast<size_t (*)(void*)>(dlsym(RTLD_NEXT, "malloc_usable_size"));
  return next(pointer);
}
}
