/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The operations: what system calls, interrupts and the scheduler's main function do around the class, each the
 * shortest way that does the same. Included by driver.c only.
 */

static const int policies[] = { SCHED_NORMAL, SCHED_BATCH, SCHED_IDLE };

static void do_task(const struct oracle_op *op)
{
	struct task_struct *p = task_at(op->a);
	struct sched_attr attr = { .sched_nice = op->n, .sched_runtime = op->x };

	make_task_struct(p);
	__sched_fork(0, p);
	p->__state = TASK_NEW;
	p->sched_class = &fair_sched_class;
	p->policy = policies[op->d];
	__setparam_fair(p, &attr);
	p->prio = p->normal_prio = p->static_prio;
	set_load_weight(p, false);
	init_entity_runnable_average(&p->se);
	join_group(p, op->c);
	p->sched_task_group = group_at(op->c);
	__set_task_cpu(p, op->b);
	if (p->sched_class->task_fork)
		p->sched_class->task_fork(p);
	task_order[nr_live++] = op->a;
	task_infos[op->a].live = 1;
}

static void do_wake(const struct oracle_op *op)
{
	struct task_struct *p = task_at(op->a);
	int wake_flags = WF_TTWU | (op->c ? WF_SYNC : 0);
	struct rq_flags rf;
	struct rq *rq;

	on_cpu(task_cpu(p));
	if (READ_ONCE(p->on_rq) && ttwu_runnable(p, wake_flags))
		return;
	WRITE_ONCE(p->__state, TASK_WAKING);
	if (op->b != ~0U && op->b != task_cpu(p)) {
		wake_flags |= WF_MIGRATED;
		set_task_cpu(p, op->b);
	}
	rq = task_rq(p);
	rq_lock(rq, &rf);
	update_rq_clock(rq);
	ttwu_do_activate(rq, p, wake_flags, &rf);
}

/* The runqueue's half of a switch: who runs next, without the stacks. */
static void do_schedule(unsigned int cpu, unsigned int state)
{
	struct rq *rq = cpu_rq(cpu);
	struct task_struct *prev = rq->curr, *next;
	struct rq_flags rf;
	unsigned long prev_state = state;

	on_cpu(cpu);
	WRITE_ONCE(prev->__state, state);
	rq_lock(rq, &rf);
	rq->clock_update_flags <<= 1;
	update_rq_clock(rq);
	rq->clock_update_flags = RQCF_UPDATED;
	if (prev_state)
		try_to_block_task(rq, prev, &prev_state, true);

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

static void do_exit_task(unsigned int cpu)
{
	struct task_struct *p = cpu_rq(cpu)->curr;
	unsigned int number = number_of(p), i;

	do_schedule(cpu, TASK_DEAD);
	if (p->sched_class->task_dead)
		p->sched_class->task_dead(p);
	for (i = 0; task_order[i] != number; i++)
		;
	nr_live--;
	for (; i < nr_live; i++)
		task_order[i] = task_order[i + 1];
	task_infos[number].live = 0;
}

static void do_tick(unsigned int cpu)
{
	struct rq *rq = cpu_rq(cpu);
	struct task_struct *donor = rq->donor;
	struct rq_flags rf;

	on_cpu(cpu);
	rq_lock(rq, &rf);
	update_rq_clock(rq);
	if (test_tsk_thread_flag(rq->curr, TIF_NEED_RESCHED_LAZY))
		resched_curr(rq);
	donor->sched_class->task_tick(rq, donor, 0);
}

static void do_param(const struct oracle_op *op)
{
	struct task_struct *p = task_at(op->a);
	struct sched_attr attr = { .sched_nice = op->n, .sched_runtime = op->x };
	int oldprio;

	on_cpu(task_cpu(p));
	guard(task_rq_lock)(p);
	update_rq_clock(task_rq(p));
	oldprio = p->prio;
	scoped_guard (sched_change, p, DEQUEUE_SAVE | DEQUEUE_NOCLOCK) {
		/*
		 * __setscheduler_params(), but all words count under every policy: the system call leaves nice and
		 * slice alone when the policy is SCHED_IDLE.
		 */
		p->policy = policies[op->d];
		__setparam_fair(p, &attr);
		p->normal_prio = normal_prio(p);
		set_load_weight(p, true);
		p->prio = p->normal_prio;
		if (scope->queued && oldprio < p->prio)
			scope->flags |= ENQUEUE_HEAD;
	}
}

static void do_group_new(const struct oracle_op *op)
{
	struct task_group *parent = group_at(op->a);
	struct task_group *tg = bump(sizeof(*tg), 64);

	memset(tg, 0, sizeof(*tg));
	tg->css.id = op->c;
	alloc_fair_sched_group(tg, parent);
	sched_online_group(tg, parent);
	group_by_number[op->c] = tg;
	group_order[nr_groups++] = op->c;
	if (op->x && op->x != scale_load_down(NICE_0_LOAD))
		sched_group_set_shares(tg, scale_load(op->x));
}

static void do_user_return(unsigned int cpu)
{
	struct task_struct *p = cpu_rq(cpu)->curr;
	struct callback_head *work;

	on_cpu(cpu);
	while ((work = p->task_works) && !p->throttled) {
		p->task_works = work->next;
		work->func(work);
	}
}

static void do_move(const struct oracle_op *op)
{
	struct task_struct *p = task_at(op->a);

	on_cpu(task_cpu(p));
	join_group(p, op->c);
	sched_move_task(p, false);
}

static void do_migrate(const struct oracle_op *op)
{
	struct task_struct *p = task_at(op->a);
	struct rq *rq = task_rq(p);
	struct rq_flags rf;

	on_cpu(op->b);
	rq_lock(rq, &rf);
	update_rq_clock(rq);
	move_queued_task(rq, &rf, p, op->b);
}

static void do_yield(const struct oracle_op *op)
{
	struct rq *rq = cpu_rq(op->b);
	struct rq_flags rf;

	on_cpu(op->b);
	rq_lock(rq, &rf);
	if (op->kind == ORACLE_YIELD)
		rq->donor->sched_class->yield_task(rq);
	else
		rq->donor->sched_class->yield_to_task(rq, task_at(op->a));
}

static void do_update_curr(unsigned int cpu)
{
	struct rq *rq = cpu_rq(cpu);
	struct rq_flags rf;

	on_cpu(cpu);
	rq_lock(rq, &rf);
	update_rq_clock(rq);
	rq->donor->sched_class->update_curr(rq);
}

static void do_finish_delayed(struct task_struct *p)
{
	on_cpu(task_cpu(p));
	guard(task_rq_lock)(p);
	dequeue_task(task_rq(p), p, DEQUEUE_SLEEP | DEQUEUE_DELAYED);
}

static void run_op(const struct oracle_op *op)
{
	switch (op->kind) {
	case ORACLE_AT:
		clock_ns = op->x;
		break;
	case ORACLE_TASK:
		do_task(op);
		break;
	case ORACLE_NEW:
		on_cpu(task_cpu(task_at(op->a)));
		wake_up_new_task(task_at(op->a));
		break;
	case ORACLE_WAKE:
		do_wake(op);
		break;
	case ORACLE_SCHEDULE:
		do_schedule(op->b, TASK_RUNNING);
		break;
	case ORACLE_BLOCK:
		do_schedule(op->b, TASK_INTERRUPTIBLE);
		break;
	case ORACLE_EXIT:
		do_exit_task(op->b);
		break;
	case ORACLE_TICK:
		do_tick(op->b);
		break;
	case ORACLE_YIELD:
	case ORACLE_YIELD_TO:
		do_yield(op);
		break;
	case ORACLE_NICE:
		on_cpu(task_cpu(task_at(op->a)));
		set_user_nice(task_at(op->a), op->n);
		break;
	case ORACLE_PARAM:
		do_param(op);
		break;
	case ORACLE_MOVE:
		do_move(op);
		break;
	case ORACLE_GROUP_NEW:
		on_cpu(0);
		do_group_new(op);
		break;
	case ORACLE_SHARES:
		on_cpu(0);
		sched_group_set_shares(group_at(op->c), scale_load(op->x));
		break;
	case ORACLE_GROUP_IDLE:
		on_cpu(0);
		sched_group_set_idle(group_at(op->c), op->a);
		break;
	case ORACLE_QUOTA:
		on_cpu(0);
		tg_set_cfs_bandwidth(group_at(op->c), op->x, op->y == ORACLE_NO_QUOTA ? RUNTIME_INF : op->y, 0);
		break;
	case ORACLE_TIMERS:
		on_cpu(0);
		run_timers();
		break;
	case ORACLE_USER_RETURN:
		do_user_return(op->b);
		break;
	case ORACLE_MIGRATE:
		do_migrate(op);
		break;
	case ORACLE_UPDATE_CURR:
		do_update_curr(op->b);
		break;
	case ORACLE_UPDATE_BLOCKED:
		on_cpu(op->b);
		sched_balance_update_blocked_averages(op->b);
		break;
	case ORACLE_FINISH_DELAYED:
		do_finish_delayed(task_at(op->a));
		break;
	}
}
