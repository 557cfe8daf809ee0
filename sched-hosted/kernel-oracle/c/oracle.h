/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The interface between the oracle and the program that loads it; src/ffi.rs is the other side of it. Tasks and groups
 * are small numbers that the program chooses; group 0 is the root group. All times are ns.
 */
#ifndef FAIRLAB_ORACLE_H
#define FAIRLAB_ORACLE_H

#define ORACLE_ABI 3

/* The value of a field that names nobody. */
#define ORACLE_NOBODY (~0ULL)
/* Added to a group's number where a field may name a task or a group. */
#define ORACLE_GROUP (1ULL << 32)
/* The quota that is none. */
#define ORACLE_NO_QUOTA (~0ULL)

enum oracle_kind {
	ORACLE_AT,		/* x: the new clock */
	ORACLE_TASK,		/* a: task, b: cpu, c: group, d: policy, x: slice, n: nice */
	ORACLE_NEW,		/* a: task */
	ORACLE_WAKE,		/* a: task, b: cpu or ~0, c: 1 if sync */
	ORACLE_SCHEDULE,	/* b: cpu */
	ORACLE_BLOCK,		/* b: cpu */
	ORACLE_EXIT,		/* b: cpu */
	ORACLE_TICK,		/* b: cpu */
	ORACLE_YIELD,		/* b: cpu */
	ORACLE_YIELD_TO,	/* a: task, b: cpu */
	ORACLE_NICE,		/* a: task, n: nice */
	ORACLE_PARAM,		/* a: task, d: policy, x: slice, n: nice */
	ORACLE_MOVE,		/* a: task, c: group */
	ORACLE_GROUP_NEW,	/* c: group, a: parent, x: shares in cpu.shares units, 0 for the default */
	ORACLE_SHARES,		/* c: group, x: shares in cpu.shares units */
	ORACLE_GROUP_IDLE,	/* c: group, a: 0 or 1 */
	ORACLE_QUOTA,		/* c: group, x: period in us, y: quota in us */
	ORACLE_TIMERS,
	ORACLE_USER_RETURN,	/* b: cpu */
	ORACLE_MIGRATE,		/* a: task, b: cpu */
	ORACLE_UPDATE_CURR,	/* b: cpu */
	ORACLE_UPDATE_BLOCKED,	/* b: cpu */
	ORACLE_FINISH_DELAYED,	/* a: task */
};

struct oracle_op {
	unsigned int kind;
	unsigned int a, b, c, d;
	int n;
	unsigned long long x, y;
};

struct oracle_config {
	unsigned int cpus;
	unsigned int hz;
	unsigned int tasks;		/* task numbers are below this */
	unsigned int groups;		/* group numbers are below this; 1 at least */
	unsigned int cgroup_mode;	/* up, smp, concur, max, tasks */
	unsigned int features;		/* bits in the order of oracle_feature() */
	unsigned int base_slice_ns;	/* 0: the default */
};

/* What a batch does with each of its items (bench.h). */
enum oracle_bench {
	ORACLE_BENCH_NOTHING,		/* what taking the time costs by itself */
	ORACLE_BENCH_CLOCK,		/* update_rq_clock() */
	ORACLE_BENCH_ENQUEUE,		/* the task wakes up */
	ORACLE_BENCH_REQUEUE,		/* a delayed task wakes up */
	ORACLE_BENCH_DEQUEUE,		/* the running task is dequeued, never delayed; a switch must follow */
	ORACLE_BENCH_DELAY,		/* the same, delayed where the class wants it */
	ORACLE_BENCH_SWITCH,		/* pick, put_prev, set_next */
	ORACLE_BENCH_UPDATE_CURR,
	ORACLE_BENCH_TICK,
	ORACLE_BENCH_PLACE,		/* place_entity() of a task that sleeps */
	ORACLE_BENCH_PICK,		/* pick_eevdf() */
	ORACLE_BENCH_ERASE,		/* the task leaves the tree; it must be put back */
	ORACLE_BENCH_INSERT,
	ORACLE_BENCH_PEEK,		/* whom the next pick would fall on is the item's task then */
	ORACLE_BENCH_HAND_OFF,		/* the task wakes up, the running one sleeps and is the item's task then */
};

struct oracle_bench_item {
	unsigned int task, cpu;
	unsigned long long step_ns;	/* the clock goes on by so much before each operation that reads it */
};

/* What an outsider may know of a live task. */
struct oracle_task_info {
	unsigned char live;
	unsigned char state;		/* 0 new, 1 runnable, 2 delayed, 3 blocked */
	unsigned char running;
	unsigned char throttled;
	unsigned int cpu;
	unsigned int group;
};

/* A complaint of the kernel's own code. */
struct oracle_complaint {
	unsigned int count;		/* how many there were since the reset; only the first is described */
	unsigned int fatal;		/* it is a BUG, a panic or a call of what is not there: nothing goes on from here */
	unsigned int line;
	char file[128];			/* or what is missing */
};

#endif
