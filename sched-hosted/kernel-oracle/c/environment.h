/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What fair.c asks of the rest of the kernel and what needs no copy of it: locks that are nothing, the clock, CPU
 * masks, memory, timers, warnings. Included by driver.c only.
 */

/* ---- memory and the saved data --------------------------------------------------------------------------------- */

#define PERCPU_PER_GROUP (ALIGN(sizeof(struct cfs_tg_state), SMP_CACHE_BYTES) + SMP_CACHE_BYTES)

static void *memory_next, *memory_end;
static void *give_up[5];
static struct oracle_complaint complaint;
static u64 clock_ns;
static unsigned int this_cpu;
static void *saved_data;

extern char __per_cpu_start[], __per_cpu_end[];
static unsigned long percpu_size, percpu_room;
unsigned long __per_cpu_offset[NR_CPUS];

/* The shared object's own program headers tell which part of it can be written: what a reset must bring back. */
struct program_header {
	unsigned int type, flags;
	unsigned long offset, vaddr, paddr, filesz, memsz, align;
};

extern char __ehdr_start[];

static void each_writable(void (*visit)(void *at, unsigned long size, void *arg), void *arg)
{
	const char *header = __ehdr_start;
	unsigned long table = *(unsigned long *)(header + 32);
	unsigned short i, n = *(unsigned short *)(header + 56);

	for (i = 0; i < n; i++) {
		const struct program_header *ph = (const void *)(header + table) + i * sizeof(*ph);

		if (ph->type == 1 && ph->flags & 2)
			visit((void *)header + ph->vaddr, ph->memsz, arg);
	}
}

static void add_size(void *at, unsigned long size, void *sum)
{
	*(unsigned long *)sum += size;
}

static unsigned long data_size(void)
{
	unsigned long sum = 0;

	each_writable(add_size, &sum);
	return sum;
}

static void save_part(void *at, unsigned long size, void *to)
{
	memcpy(*(void **)to, at, size);
	*(void **)to += size;
}

static void restore_part(void *at, unsigned long size, void *from)
{
	void *start = *(void **)from;

	*(void **)from += size;
	memcpy(at, start, size);
}

static void save_data(void)
{
	void *to = saved_data;

	each_writable(save_part, &to);
}

static void restore_data(void)
{
	void *from = saved_data;

	each_writable(restore_part, &from);
}

void __percpu *pcpu_alloc_noprof(size_t size, size_t align, bool reserved, gfp_t gfp)
{
	unsigned long at = ALIGN(percpu_size, max_t(size_t, align, SMP_CACHE_BYTES));

	if (at + size > percpu_room)
		return NULL;
	percpu_size = at + size;
	return (void __percpu *)((unsigned long)__per_cpu_start + at);
}

void free_percpu(void __percpu *at) { }

/* ---- warnings -------------------------------------------------------------------------------------------------- */

static void complain(const char *file, unsigned int line, bool fatal)
{
	unsigned int i;

	if (!complaint.count++ || (fatal && !complaint.fatal)) {
		complaint.line = line;
		for (i = 0; file[i] && i < sizeof(complaint.file) - 1; i++)
			complaint.file[i] = file[i];
		complaint.file[i] = 0;
	}
	complaint.fatal |= fatal;
}

void warn_slowpath_fmt(const char *file, const int line, unsigned int taint, const char *fmt, ...)
{
	complain(file, line, false);
}

void __warn_printk(const char *fmt, ...)
{
	complain("a warning", 0, false);
}

/* BUG() prints its place and then calls panic(). */
static const char *printed_file;
static int printed_line;

int _printk(const char *fmt, ...)
{
	va_list args;

	if (strncmp(fmt, "BUG: failure at ", 16))
		return 0;
	va_start(args, fmt);
	printed_file = va_arg(args, const char *);
	printed_line = va_arg(args, int);
	va_end(args);
	return 0;
}

void panic(const char *fmt, ...)
{
	complain(printed_file ?: fmt, printed_line, true);
	__builtin_longjmp(give_up, 1);
}

/* Something was called that is not here; the stubs for what nobody defines end here too. */
void oracle_missing(const char *name)
{
	complain(name, 0, true);
	__builtin_longjmp(give_up, 1);
}

int strncmp(const char *a, const char *b, size_t n)
{
	for (; n && *a && *a == *b; n--, a++, b++)
		;
	return n ? *a - *b : 0;
}

/* ---- CPUs and the clock ---------------------------------------------------------------------------------------- */

struct cpumask __cpu_possible_mask, __cpu_present_mask, __cpu_online_mask, __cpu_active_mask;
atomic_t __num_online_cpus;
unsigned int nr_cpu_ids = NR_CPUS;
struct task_struct *cpu_tasks[NR_CPUS];
int uml_ncpus;
volatile unsigned long jiffies = INITIAL_JIFFIES;
u64 jiffies_64 = INITIAL_JIFFIES;
unsigned int hrtimer_resolution = 1;
DEFINE_PER_CPU_SHARED_ALIGNED(struct rq, runqueues);

int uml_curr_cpu(void)
{
	return this_cpu;
}

u64 sched_clock_cpu(int cpu)
{
	return clock_ns;
}

unsigned long long sched_clock(void)
{
	return clock_ns;
}

u32 __get_random_u32_below(u32 ceiling)
{
	return 0;
}

/* ---- locks, of which one thread needs none --------------------------------------------------------------------- */

void _raw_spin_lock(raw_spinlock_t *lock) { }
void _raw_spin_lock_irq(raw_spinlock_t *lock) { }
unsigned long _raw_spin_lock_irqsave(raw_spinlock_t *lock) { return 0; }
void _raw_spin_unlock_irqrestore(raw_spinlock_t *lock, unsigned long flags) { }
void raw_spin_rq_lock_nested(struct rq *rq, int subclass) { }
void mutex_lock(struct mutex *lock) { }
void mutex_unlock(struct mutex *lock) { }
int um_get_signals(void) { return 0; }
int um_set_signals(int enable) { return 0; }
void block_signals(void) { }
void unblock_signals(void) { }

/* A pin forgets that the clock was updated: each section that holds the lock has to do it. */
struct rq *_task_rq_lock(struct task_struct *p, struct rq_flags *rf)
{
	rq_pin_lock(task_rq(p), rf);
	return task_rq(p);
}

struct rq *___task_rq_lock(struct task_struct *p, struct rq_flags *rf)
{
	rq_pin_lock(task_rq(p), rf);
	return task_rq(p);
}

/* ---- what there is of tasks and groups around the class -------------------------------------------------------- */

struct task_group root_task_group;
LIST_HEAD(task_groups);
static DEFINE_SPINLOCK(task_group_lock);
static DEFINE_MUTEX(cfs_constraints_mutex);
static DEFINE_PER_CPU(struct sched_change_ctx, sched_change_ctx);
static struct signal_struct oracle_signal;
static struct cgroup oracle_cgroup;
static struct root_domain oracle_root_domain;
const struct sched_class stop_sched_class, dl_sched_class, rt_sched_class;
unsigned int sysctl_sched_nr_migrate = 32;
int sched_rr_timeslice = RR_TIMESLICE;
DEFINE_STATIC_KEY_FALSE(sched_numa_balancing);
DEFINE_STATIC_KEY_FALSE(sched_asym_cpucapacity);
DEFINE_STATIC_KEY_FALSE(sched_cluster_active);

#define SCHED_FEAT(name, enabled) (1UL << __SCHED_FEAT_##name) * enabled |
static const unsigned int boot_features =
#include "features.h"
	0;
#undef SCHED_FEAT
unsigned int sysctl_sched_features;

void __cgroup_account_cputime(struct cgroup *cgrp, u64 delta_exec) { }
void cpuacct_charge(struct task_struct *tsk, u64 cputime) { }
void init_dl_entity(struct sched_dl_entity *dl_se) { }
void dl_server_init(struct sched_dl_entity *dl_se, struct rq *rq, dl_server_pick_f pick_task) { }
void dl_server_start(struct sched_dl_entity *dl_se) { }
void dl_server_update(struct sched_dl_entity *dl_se, s64 delta_exec) { }
void dl_server_update_idle(struct sched_dl_entity *dl_se, s64 delta_exec) { }

void __balance_callbacks(struct rq *rq, struct rq_flags *rf) { }

/* Without CONFIG_UCLAMP_TASK these are empty in core.c. */
#define uclamp_rq_inc(...) do { } while (0)
#define uclamp_rq_dec(...) do { } while (0)

static inline int select_task_rq(struct task_struct *p, int cpu, int *wake_flags)
{
	return cpu;
}

static int __cfs_schedulable(struct task_group *tg, u64 period, u64 runtime)
{
	return 0;
}

/* No CPU polls, and what another CPU is told it does when the operation for it comes. */
static bool set_nr_and_not_polling(struct thread_info *ti, int tif)
{
	set_ti_thread_flag(ti, tif);
	return false;
}

void arch_smp_send_reschedule(int cpu) { }

static void __resched_curr(struct rq *rq, int tif);

void resched_curr_lazy(struct rq *rq)
{
	__resched_curr(rq, TIF_NEED_RESCHED_LAZY);
}

int task_work_add(struct task_struct *p, struct callback_head *work, enum task_work_notify_mode notify)
{
	work->next = p->task_works;
	p->task_works = work;
	return 0;
}

/* A call on another CPU happens at once. */
int smp_call_function_single_async(int cpu, call_single_data_t *csd)
{
	unsigned int back = this_cpu;

	this_cpu = cpu;
	csd->func(csd->info);
	this_cpu = back;
	return 0;
}

/* ---- timers ---------------------------------------------------------------------------------------------------- */

/* Two of each group at most. The order of arming decides between equal times, so newer ones stand last. */
#define MAX_TIMERS 4096
static struct hrtimer *armed[MAX_TIMERS];
static unsigned int nr_armed;

static void disarm(struct hrtimer *timer)
{
	unsigned int i, left = 0;

	for (i = 0; i < nr_armed; i++) {
		if (armed[i] != timer)
			armed[left++] = armed[i];
	}
	nr_armed = left;
	timer->is_queued = false;
}

static void arm(struct hrtimer *timer)
{
	if (nr_armed == MAX_TIMERS)
		panic("too many timers");
	armed[nr_armed++] = timer;
	timer->is_queued = true;
}

/* Its callback is never seen running: hrtimer_callback_running() is false. */
static struct hrtimer_clock_base oracle_clock_base;

void hrtimer_setup(struct hrtimer *timer, enum hrtimer_restart (*function)(struct hrtimer *), clockid_t clock_id,
		   enum hrtimer_mode mode)
{
	memset(timer, 0, sizeof(*timer));
	timer->base = &oracle_clock_base;
	ACCESS_PRIVATE(timer, function) = function;
}

ktime_t hrtimer_cb_get_time(const struct hrtimer *timer)
{
	return clock_ns;
}

void hrtimer_start_range_ns(struct hrtimer *timer, ktime_t time, u64 range_ns, const enum hrtimer_mode mode)
{
	disarm(timer);
	if (mode & HRTIMER_MODE_REL)
		time = ktime_add_safe(time, clock_ns);
	hrtimer_set_expires(timer, time);
	arm(timer);
}

int hrtimer_cancel(struct hrtimer *timer)
{
	bool was_queued = timer->is_queued;

	disarm(timer);
	return was_queued;
}

static void run_timers(void)
{
	for (;;) {
		struct hrtimer *due = NULL;
		unsigned int i;

		for (i = 0; i < nr_armed; i++) {
			ktime_t expires = hrtimer_get_expires(armed[i]);

			if (expires <= (ktime_t)clock_ns && (!due || expires < hrtimer_get_expires(due)))
				due = armed[i];
		}
		if (!due)
			return;
		disarm(due);
		if (ACCESS_PRIVATE(due, function)(due) == HRTIMER_RESTART && !due->is_queued)
			arm(due);
	}
}
