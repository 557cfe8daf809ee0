/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Single paths of the class in loops, to be timed from outside: one call runs a whole batch over items that were
 * prepared before, so that no call from another language is in what is timed. Included by driver.c only; the same
 * loops in Rust are sched-hosted/src/bench/here.rs. What a batch does must be legal in the present state.
 */

struct bench_item {
	struct rq *rq;
	struct task_struct *p;
	u64 step_ns;
	unsigned int cpu;
};

static struct bench_item *bench_items;
static unsigned long bench_nr;

static __always_inline void bench_clock(const struct bench_item *it)
{
	on_cpu(it->cpu);
	clock_ns += it->step_ns;
}

#define for_each_bench_item(it) for (it = bench_items; it < bench_items + bench_nr; it++)

static noinline void bench_update_clock(void)
{
	struct bench_item *it;

	for_each_bench_item(it) {
		bench_clock(it);
		update_rq_clock(it->rq);
	}
}

static noinline void bench_enqueue(void)
{
	struct bench_item *it;

	for_each_bench_item(it) {
		bench_clock(it);
		enqueue_task(it->rq, it->p, ENQUEUE_WAKEUP);
		WRITE_ONCE(it->p->on_rq, TASK_ON_RQ_QUEUED);
		it->p->is_blocked = 0;
	}
}

static noinline void bench_requeue(void)
{
	struct bench_item *it;

	for_each_bench_item(it) {
		bench_clock(it);
		enqueue_task(it->rq, it->p, ENQUEUE_DELAYED);
		it->p->is_blocked = 0;
	}
}

static noinline void bench_dequeue(void)
{
	struct bench_item *it;

	for_each_bench_item(it) {
		bench_clock(it);
		it->p->is_blocked = 1;
		if (dequeue_task(it->rq, it->p, DEQUEUE_SLEEP | DEQUEUE_SPECIAL))
			__block_task(it->rq, it->p);
	}
}

static noinline void bench_delay(void)
{
	struct bench_item *it;

	for_each_bench_item(it) {
		bench_clock(it);
		it->p->is_blocked = 1;
		if (dequeue_task(it->rq, it->p, DEQUEUE_SLEEP))
			__block_task(it->rq, it->p);
	}
}

/* What do_schedule() does from the pick on. */
static __always_inline void bench_pick_and_switch(struct rq *rq)
{
	struct task_struct *prev = rq->curr, *next;
	struct rq_flags rf;

	rq->dl_server = NULL;
	next = pick_task_fair(rq, &rf);
	if (!next)
		next = pick_task_idle(rq, &rf);
	put_prev_set_next_task(rq, rq->donor, next);
	rq->next_class = next->sched_class;
	rq_set_donor(rq, next);
	clear_tsk_need_resched(prev);
	if (prev == next)
		return;
	rq->nr_switches++;
	set_curr(rq, next);
	WRITE_ONCE(next->on_cpu, 1);
	WRITE_ONCE(prev->on_cpu, 0);
}

static noinline void bench_switch(void)
{
	struct bench_item *it;

	for_each_bench_item(it) {
		on_cpu(it->cpu);
		bench_pick_and_switch(it->rq);
	}
}

static noinline void bench_update_curr(unsigned int repeat)
{
	struct bench_item *it;

	while (repeat--) {
		for_each_bench_item(it) {
			on_cpu(it->cpu);
			it->rq->clock_task += it->step_ns;
			update_curr_fair(it->rq);
		}
	}
}

static noinline void bench_tick(void)
{
	struct bench_item *it;

	for_each_bench_item(it) {
		bench_clock(it);
		update_rq_clock(it->rq);
		task_tick_fair(it->rq, it->rq->donor, 0);
	}
}

static noinline void bench_place(unsigned int repeat)
{
	struct bench_item *it;

	while (repeat--) {
		for_each_bench_item(it)
			place_entity(&it->rq->cfs, &it->p->se, ENQUEUE_WAKEUP);
	}
}

static noinline void bench_pick(unsigned int repeat)
{
	struct bench_item *it;

	while (repeat--) {
		for_each_bench_item(it) {
			struct sched_entity *se = pick_eevdf(&it->rq->cfs, false);

			/* The answer must be made, although nobody reads it. */
			__asm__ volatile("" : : "r"(se) : "memory");
		}
	}
}

static void bench_peek(void)
{
	struct bench_item *it;

	for_each_bench_item(it)
		it->p = task_of(pick_eevdf(&it->rq->cfs, true));
}

static noinline void bench_erase(void)
{
	struct bench_item *it;

	for_each_bench_item(it)
		__dequeue_entity(&it->rq->cfs, &it->p->se);
}

static noinline void bench_insert(void)
{
	struct bench_item *it;

	for_each_bench_item(it)
		__enqueue_entity(&it->rq->cfs, &it->p->se);
}

/* Of the items of one CPU each: the sleeper is woken by what runs there, which then sleeps itself. */
static noinline void bench_hand_off(unsigned int repeat)
{
	struct bench_item *it;
	unsigned int i;

	for_each_bench_item(it) {
		for (i = 0; i < repeat; i++) {
			struct oracle_op wake = { .a = number_of(it->p), .b = ~0U, .c = 1 };
			struct task_struct *prev = it->rq->curr;

			clock_ns += it->step_ns;
			do_wake(&wake);
			clock_ns += it->step_ns / 2;
			do_schedule(it->cpu, TASK_INTERRUPTIBLE);
			it->p = prev;
		}
	}
}

static void bench_run(unsigned int kind, unsigned int repeat)
{
	switch (kind) {
	case ORACLE_BENCH_NOTHING:
		break;
	case ORACLE_BENCH_CLOCK:
		bench_update_clock();
		break;
	case ORACLE_BENCH_ENQUEUE:
		bench_enqueue();
		break;
	case ORACLE_BENCH_REQUEUE:
		bench_requeue();
		break;
	case ORACLE_BENCH_DEQUEUE:
		bench_dequeue();
		break;
	case ORACLE_BENCH_DELAY:
		bench_delay();
		break;
	case ORACLE_BENCH_SWITCH:
		bench_switch();
		break;
	case ORACLE_BENCH_UPDATE_CURR:
		bench_update_curr(repeat);
		break;
	case ORACLE_BENCH_TICK:
		bench_tick();
		break;
	case ORACLE_BENCH_PLACE:
		bench_place(repeat);
		break;
	case ORACLE_BENCH_PICK:
		bench_pick(repeat);
		break;
	case ORACLE_BENCH_ERASE:
		bench_erase();
		break;
	case ORACLE_BENCH_INSERT:
		bench_insert();
		break;
	case ORACLE_BENCH_PEEK:
		bench_peek();
		break;
	case ORACLE_BENCH_HAND_OFF:
		bench_hand_off(repeat);
		break;
	}
}
