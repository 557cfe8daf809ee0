// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel's fair class driven from outside. The tree's own fair.c is included, so that its static functions are
 * within reach; what it needs of core.c and others is taken out of the tree by name when this is built
 * (core_pieces.h). Locks are nothing here: one thread drives one machine.
 */
#include <linux/jiffies.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/cgroup.h>
#include <linux/kthread.h>
#include <linux/sched/cputime.h>

/* CPU time of processes and cgroups is nothing that the class reads: neither side does the accounting. */
#define account_group_exec_runtime(task, ns) do { } while (0)
#define cgroup_account_cputime(task, ns) do { } while (0)

/* The tick enters results, and one build serves every HZ. */
#undef TICK_NSEC
#define TICK_NSEC oracle_tick_nsec
static long oracle_tick_nsec;

#include "fair.c"
#include "oracle.h"

#define EXPORT __attribute__((visibility("default")))

/* ---- what the rest of the kernel would bring ------------------------------------------------------------------- */

#include "environment.h"
#include "core_pieces.h"

/* ---- the machine ----------------------------------------------------------------------------------------------- */

static struct oracle_config config;
static struct task_struct *task_memory;		/* by task number */
static struct task_struct *idle_memory;		/* by CPU */
static struct task_group **group_by_number;
static struct css_set *css_memory;		/* by group number; one cgroup membership each */
static unsigned int *task_order, nr_live;	/* live tasks, oldest first */
static unsigned int *group_order, nr_groups;
static struct oracle_task_info *task_infos;

static inline struct task_struct *task_at(unsigned int number)
{
	return &task_memory[number];
}

static inline unsigned int number_of(const struct task_struct *p)
{
	return p - task_memory;
}

static inline struct task_group *group_at(unsigned int number)
{
	return group_by_number[number];
}

static void *bump(unsigned long size, unsigned long align)
{
	void *at = (void *)ALIGN((unsigned long)memory_next, align);

	memory_next = at + size;
	if (memory_next > memory_end)
		panic("the oracle's memory is too small");
	return at;
}

/* The CPU on which things happen; the kernel asks smp_processor_id() and current. */
static inline void on_cpu(unsigned int cpu)
{
	this_cpu = cpu;
}

static void set_curr(struct rq *rq, struct task_struct *p)
{
	RCU_INIT_POINTER(rq->curr, p);
	cpu_tasks[cpu_of(rq)] = p;
}

static void make_percpu(void)
{
	unsigned long start = (unsigned long)__per_cpu_start;
	unsigned long size = __per_cpu_end - __per_cpu_start;
	unsigned int cpu;

	percpu_size = ALIGN(size, SMP_CACHE_BYTES);
	percpu_room = percpu_size + config.groups * PERCPU_PER_GROUP;
	/* An odd number of lines: here one CPU's cache has all areas, and equal offsets must not share its sets. */
	percpu_room |= SMP_CACHE_BYTES;
	for (cpu = 0; cpu < config.cpus; cpu++) {
		void *area = bump(percpu_room, SMP_CACHE_BYTES);

		memset(area, 0, percpu_room);
		memcpy(area, (void *)start, size);
		__per_cpu_offset[cpu] = (unsigned long)area - start;
	}
}

static void make_root_group(void)
{
	struct task_group *tg = &root_task_group;

	tg->cfs_rq = &runqueues.cfs;
	tg->shares = ROOT_TASK_GROUP_LOAD;
	init_cfs_bandwidth(&tg->cfs_bandwidth, NULL);
	list_add(&tg->list, &task_groups);
	INIT_LIST_HEAD(&tg->children);
	INIT_LIST_HEAD(&tg->siblings);
	group_by_number[0] = tg;
	group_order[nr_groups++] = 0;
}

static void join_group(struct task_struct *p, unsigned int number)
{
	struct css_set *set = &css_memory[number];

	set->subsys[cpu_cgrp_id] = &group_at(number)->css;
	set->dfl_cgrp = &oracle_cgroup;
	RCU_INIT_POINTER(p->cgroups, set);
}

static void make_task_struct(struct task_struct *p)
{
	memset(p, 0, sizeof(*p));
	p->signal = &oracle_signal;
	p->cpus_ptr = &p->cpus_mask;
	cpumask_copy(&p->cpus_mask, cpu_possible_mask);
	p->nr_cpus_allowed = config.cpus;
	INIT_LIST_HEAD(&p->se.group_node);
	INIT_LIST_HEAD(&p->tasks);
}

static void make_idle(unsigned int cpu)
{
	struct rq *rq = cpu_rq(cpu);
	struct task_struct *idle = &idle_memory[cpu];

	make_task_struct(idle);
	__sched_fork(0, idle);
	idle->flags |= PF_KTHREAD | PF_IDLE;
	idle->sched_class = &idle_sched_class;
	idle->static_prio = idle->prio = idle->normal_prio = MAX_PRIO;
	idle->sched_task_group = &root_task_group;
	join_group(idle, 0);
	__set_task_cpu(idle, cpu);
	idle->on_rq = TASK_ON_RQ_QUEUED;
	idle->on_cpu = 1;
	rq->idle = idle;
	set_curr(rq, idle);
	rq_set_donor(rq, idle);
}

static void make_rq(unsigned int cpu)
{
	struct rq *rq = cpu_rq(cpu);

	rq->cpu = cpu;
	rq->cpu_capacity = SCHED_CAPACITY_SCALE;
	rq->next_class = &idle_sched_class;
	rq->rd = &oracle_root_domain;
	rq->online = 1;
	rq->avg_idle = 2 * sysctl_sched_migration_cost;
	rq->max_idle_balance_cost = sysctl_sched_migration_cost;
	init_cfs_rq(&rq->cfs);
	INIT_LIST_HEAD(&rq->cfs_tasks);
	INIT_LIST_HEAD(&rq->leaf_cfs_rq_list);
	rq->tmp_alone_branch = &rq->leaf_cfs_rq_list;
	init_tg_cfs_entry(&root_task_group, &rq->cfs, NULL, cpu, NULL);
	INIT_CSD(&rq->cfsb_csd, __cfsb_csd_unthrottle, rq);
	INIT_LIST_HEAD(&rq->cfsb_csd_list);
	fair_server_init(rq);
	make_idle(cpu);
}

static void make_machine(void)
{
	unsigned int cpu;

	task_memory = bump(sizeof(*task_memory) * config.tasks, 64);
	idle_memory = bump(sizeof(*idle_memory) * config.cpus, 64);
	group_by_number = bump(sizeof(*group_by_number) * config.groups, 64);
	css_memory = bump(sizeof(*css_memory) * config.groups, 64);
	task_order = bump(sizeof(*task_order) * config.tasks, 64);
	group_order = bump(sizeof(*group_order) * config.groups, 64);
	task_infos = bump(sizeof(*task_infos) * config.tasks, 64);
	memset(group_by_number, 0, sizeof(*group_by_number) * config.groups);
	memset(task_infos, 0, sizeof(*task_infos) * config.tasks);
	memset(css_memory, 0, sizeof(*css_memory) * config.groups);

	nr_cpu_ids = config.cpus;
	for (cpu = 0; cpu < config.cpus; cpu++) {
		cpumask_set_cpu(cpu, &__cpu_possible_mask);
		cpumask_set_cpu(cpu, &__cpu_present_mask);
		cpumask_set_cpu(cpu, &__cpu_online_mask);
		cpumask_set_cpu(cpu, &__cpu_active_mask);
	}
	atomic_set(&__num_online_cpus, config.cpus);

	oracle_tick_nsec = NSEC_PER_SEC / config.hz;
	sysctl_sched_features = config.features;
	__sched_cgroup_mode_update(config.cgroup_mode);
	make_percpu();
	make_root_group();
	for (cpu = 0; cpu < config.cpus; cpu++)
		make_rq(cpu);
	sched_init_granularity();
	if (config.base_slice_ns)
		sysctl_sched_base_slice = config.base_slice_ns;
	clock_ns = NSEC_PER_MSEC;
}

#include "operations.h"
#include "bench.h"
#include "show.h"

/* ---- what the program calls ------------------------------------------------------------------------------------ */

EXPORT unsigned int oracle_abi(void)
{
	return ORACLE_ABI;
}

/* The compiler. */
EXPORT const char *oracle_compiler(void)
{
	return "gcc " __VERSION__;
}

/* The name of feature number `i`; NULL after the last. */
EXPORT const char *oracle_feature(unsigned int i)
{
#define SCHED_FEAT(name, enabled) #name,
	static const char *const names[] = {
#include "features.h"
	};
#undef SCHED_FEAT

	return i < ARRAY_SIZE(names) ? names[i] : NULL;
}

/* The features that are on by default, one bit each. */
EXPORT unsigned int oracle_default_features(void)
{
	return boot_features;
}

/* The most CPUs that there can be. */
EXPORT unsigned int oracle_max_cpus(void)
{
	return NR_CPUS;
}

/* How many bytes of memory oracle_init() needs for such a machine. */
EXPORT unsigned long oracle_memory(const struct oracle_config *c)
{
	unsigned long percpu = ALIGN((unsigned long)(__per_cpu_end - __per_cpu_start), SMP_CACHE_BYTES);

	return (c->tasks + c->cpus) * sizeof(struct task_struct) +
	       c->groups * (sizeof(struct css_set) + sizeof(struct task_group) + 128) +
	       c->cpus * (percpu + c->groups * PERCPU_PER_GROUP + 2 * PAGE_SIZE) +
	       c->tasks * (sizeof(struct oracle_task_info) + 16) + 64 * PAGE_SIZE;
}

/* How many bytes of writable data the shared object has: what oracle_init() saves and a reset brings back. */
EXPORT unsigned long oracle_data_size(void)
{
	return data_size();
}

/* To be called once after loading, with oracle_data_size() bytes that nobody else touches. */
EXPORT void oracle_load(void *snapshot)
{
	saved_data = snapshot;
	save_data();
}

/* Makes a machine, and forgets the one before. 0, or 1 if the kernel's own code gave up. */
EXPORT int oracle_init(const struct oracle_config *c, void *memory, unsigned long size)
{
	restore_data();
	config = *c;
	memory_next = memory;
	memory_end = memory + size;
	if (__builtin_setjmp(give_up))
		return 1;
	make_machine();
	return 0;
}

/* Carries out a legal operation. 0, or 1 if the kernel's own code gave up: only oracle_init() may follow then. */
EXPORT int oracle_run(const struct oracle_op *op)
{
	if (__builtin_setjmp(give_up))
		return 1;
	run_op(op);
	return 0;
}

/* Carries out `n` legal operations; the index of the one at which the kernel's own code gave up, or `n`. */
EXPORT unsigned long oracle_run_many(const struct oracle_op *ops, unsigned long n)
{
	static unsigned long i;

	i = 0;
	if (__builtin_setjmp(give_up))
		return i;
	for (; i < n; i++)
		run_op(&ops[i]);
	return n;
}

/* How many bytes a prepared item has, and a task. */
EXPORT unsigned long oracle_bench_item_size(void)
{
	return sizeof(struct bench_item);
}

EXPORT unsigned long oracle_bench_task_size(void)
{
	return sizeof(struct task_struct);
}

/* Prepares a batch of `n` items in `room`, which stays the oracle's until the next batch. */
EXPORT void oracle_bench_prepare(const struct oracle_bench_item *items, unsigned long n, void *room)
{
	unsigned long i;

	bench_items = room;
	bench_nr = n;
	for (i = 0; i < n; i++) {
		bench_items[i].rq = cpu_rq(items[i].cpu);
		bench_items[i].p = task_at(items[i].task);
		bench_items[i].step_ns = items[i].step_ns;
		bench_items[i].cpu = items[i].cpu;
	}
}

/* Runs the batch. 0, or 1 if the kernel's own code gave up: only oracle_init() may follow then. */
EXPORT int oracle_bench_run(unsigned int kind, unsigned int repeat)
{
	if (__builtin_setjmp(give_up))
		return 1;
	bench_run(kind, repeat);
	return 0;
}

/* The number of the task that item `i` has now. */
EXPORT unsigned int oracle_bench_task(unsigned long i)
{
	return number_of(bench_items[i].p);
}

/* To be called by a handler of SIGSEGV while one of the calls above is under way: ends it as a BUG does. */
EXPORT void oracle_fault(void)
{
	complain("a bad address", 1, true);
	__builtin_longjmp(give_up, 1);
}

/* How many complaints there were since oracle_init(). */
EXPORT unsigned int oracle_complaints(void)
{
	return complaint.count;
}

EXPORT void oracle_complaint(struct oracle_complaint *to)
{
	*to = complaint;
}

/* The core half of the state: for each CPU rq, /, the groups; then the tasks. How many numbers were written. */
EXPORT unsigned long oracle_core(u64 *out)
{
	u64 *start = out;
	unsigned int cpu, i;

	for (cpu = 0; cpu < config.cpus; cpu++) {
		out = show_rq(out, cpu_rq(cpu));
		for (i = 1; i < nr_groups; i++)
			out = show_group(out, group_at(group_order[i]), cpu);
	}
	for (i = 0; i < nr_live; i++)
		out = show_task(out, task_at(task_order[i]));
	return out - start;
}

/* The load tracking half: for each CPU rq, /, the groups with their entities; then the tasks. */
EXPORT unsigned long oracle_pelt(u64 *out)
{
	u64 *start = out;
	unsigned int cpu, i;

	for (cpu = 0; cpu < config.cpus; cpu++) {
		struct rq *rq = cpu_rq(cpu);

		*out++ = rq->clock_pelt;
		*out++ = rq->lost_idle_time;
		for (i = 0; i < nr_groups; i++)
			out = show_pelt_group(out, group_at(group_order[i]), cpu);
	}
	for (i = 0; i < nr_live; i++)
		out = show_avg(out, &task_at(task_order[i])->se.avg);
	return out - start;
}

EXPORT void oracle_task(unsigned int number, struct oracle_task_info *to)
{
	struct task_struct *p = task_at(number);

	*to = task_infos[number];
	if (!to->live)
		return;
	if (p->se.sched_delayed)
		to->state = 2;
	else if (p->on_rq)
		to->state = 1;
	else
		to->state = READ_ONCE(p->__state) == TASK_NEW ? 0 : 3;
	to->cpu = task_cpu(p);
	to->running = cpu_rq(to->cpu)->curr == p;
	to->throttled = p->throttled;
	to->group = p->sched_task_group->css.id;
}

/* The number of the current task of `cpu`, ~0 if it idles, and what it was told: 0 nothing, 1 lazy, 2 now. */
EXPORT unsigned int oracle_current(unsigned int cpu, unsigned int *resched)
{
	struct rq *rq = cpu_rq(cpu);

	*resched = resched_word(rq);
	return rq->curr == rq->idle ? ~0U : number_of(rq->curr);
}

/* The live tasks, oldest first. */
EXPORT unsigned int oracle_tasks(const unsigned int **numbers)
{
	*numbers = task_order;
	return nr_live;
}

/* The groups, oldest first, the root group among them. */
EXPORT unsigned int oracle_groups(const unsigned int **numbers)
{
	*numbers = group_order;
	return nr_groups;
}

EXPORT unsigned long long oracle_now(void)
{
	return clock_ns;
}
