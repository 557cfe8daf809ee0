/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The state as an outsider sees it: every field as a number, in the order in which the operation language's text form
 * has them. Included by driver.c only.
 */

/* ---- what can be seen ------------------------------------------------------------------------------------------ */

static inline u64 entity_name(const struct sched_entity *se)
{
	if (!se)
		return ORACLE_NOBODY;
	if (!entity_is_task(se))
		return ORACLE_GROUP | se->my_q->tg->css.id;
	return number_of(task_of((struct sched_entity *)se));
}

static inline u64 resched_word(struct rq *rq)
{
	unsigned long flags = READ_ONCE(task_thread_info(rq->curr)->flags);

	if (flags & _TIF_NEED_RESCHED)
		return 2;
	return flags & _TIF_NEED_RESCHED_LAZY ? 1 : 0;
}

static u64 *show_level(u64 *out, struct cfs_rq *cfs_rq)
{
	*out++ = cfs_rq->load.weight;
	*out++ = cfs_rq->nr_queued;
	*out++ = cfs_rq->h_nr_queued;
	*out++ = cfs_rq->h_nr_runnable;
	*out++ = cfs_rq->h_nr_idle;
	*out++ = entity_name(cfs_rq->h_curr);
	return out;
}

static u64 *show_rq(u64 *out, struct rq *rq)
{
	*out++ = rq->clock;
	*out++ = rq->clock_task;
	*out++ = rq->nr_running;
	*out++ = rq->nr_switches;
	*out++ = resched_word(rq);
	*out++ = rq->curr == rq->idle ? ORACLE_NOBODY : number_of(rq->curr);
	out = show_level(out, &rq->cfs);
	*out++ = rq->cfs.sum_w_vruntime;
	*out++ = rq->cfs.sum_weight;
	*out++ = rq->cfs.sum_shift;
	*out++ = rq->cfs.zero_vruntime;
	*out++ = entity_name(rq->cfs.curr);
	*out++ = entity_name(rq->cfs.next);
	return out;
}

static u64 *show_group(u64 *out, struct task_group *tg, unsigned int cpu)
{
	struct cfs_rq *cfs_rq = tg_cfs_rq(tg, cpu);
	struct sched_entity *se = tg_se(tg, cpu);

	out = show_level(out, cfs_rq);
	*out++ = se->load.weight;
	*out++ = se->on_rq;
	*out++ = cfs_rq->idle;
	*out++ = cfs_rq->throttled;
	*out++ = cfs_rq->throttle_count;
	*out++ = cfs_rq->runtime_enabled ? cfs_rq->runtime_remaining : 0;
	return out;
}

static u64 *show_task(u64 *out, struct task_struct *p)
{
	struct sched_entity *se = &p->se;
	unsigned int cpu = task_cpu(p);

	*out++ = cpu;
	*out++ = p->on_rq;
	*out++ = se->on_rq;
	*out++ = se->sched_delayed;
	*out++ = se->rel_deadline;
	*out++ = se->custom_slice;
	*out++ = se->load.weight;
	*out++ = se->h_load.weight;
	*out++ = se->vruntime;
	*out++ = se->deadline;
	*out++ = se->vlag;
	*out++ = se->slice;
	*out++ = se->vprot;
	*out++ = se->exec_start;
	*out++ = se->sum_exec_runtime;
	*out++ = se->prev_sum_exec_runtime;
	if (se->on_rq && cpu_rq(cpu)->cfs.curr != se) {
		*out++ = se->min_vruntime;
		*out++ = se->min_slice;
		*out++ = se->max_slice;
	}
	return out;
}

static u64 *show_avg(u64 *out, const struct sched_avg *avg)
{
	*out++ = avg->last_update_time;
	*out++ = avg->load_sum;
	*out++ = avg->runnable_sum;
	*out++ = avg->util_sum;
	*out++ = avg->period_contrib;
	*out++ = avg->load_avg;
	*out++ = avg->runnable_avg;
	*out++ = avg->util_avg;
	*out++ = avg->util_est;
	return out;
}

static u64 *show_pelt_group(u64 *out, struct task_group *tg, unsigned int cpu)
{
	struct cfs_rq *cfs_rq = tg_cfs_rq(tg, cpu);
	struct sched_entity *se = tg_se(tg, cpu);

	out = show_avg(out, &cfs_rq->avg);
	*out++ = cfs_rq->on_list;
	if (se) {
		*out++ = cfs_rq->tg_load_avg_contrib;
		*out++ = cfs_rq->tg_runnable_avg_contrib;
		*out++ = cfs_rq->propagate;
		*out++ = cfs_rq->prop_runnable_sum;
		*out++ = atomic_long_read(&tg->load_avg);
		*out++ = atomic_long_read(&tg->runnable_avg);
	}
	*out++ = cfs_rq->removed.nr;
	*out++ = cfs_rq->removed.load_avg;
	*out++ = cfs_rq->removed.util_avg;
	*out++ = cfs_rq->removed.runnable_avg;
	if (se) {
		out = show_avg(out, &se->avg);
		*out++ = se->runnable_weight;
	}
	return out;
}
