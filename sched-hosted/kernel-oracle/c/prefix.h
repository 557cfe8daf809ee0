/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Comes before every header of the kernel: what the oracle is built of stays inside its shared object, and calls
 * within it need no PLT. Two copies of it in one process never see each other's symbols.
 */
#ifndef FAIRLAB_ORACLE_PREFIX_H
#define FAIRLAB_ORACLE_PREFIX_H

#pragma GCC visibility push(hidden)

/* The um architecture has no lazy resched flag; here it has one, in a bit that it does not use. */
#define TIF_NEED_RESCHED_LAZY 30
#define _TIF_NEED_RESCHED_LAZY (1 << TIF_NEED_RESCHED_LAZY)

/*
 * um has the barriers of a machine of which nothing is known: a full fence in a store that only releases. These are
 * those of x86 as it is, so that what is timed is the class.
 */
#ifdef __x86_64__
#define __smp_mb() __asm__ volatile("lock; addl $0,-4(%%rsp)" ::: "memory", "cc")
#define __smp_store_release(p, v)		\
	do {					\
		barrier();			\
		WRITE_ONCE(*(p), v);		\
	} while (0)
#define __smp_load_acquire(p)			\
	({					\
		__typeof__(*(p)) __v = READ_ONCE(*(p));	\
		barrier();			\
		__v;				\
	})
#endif

#endif
