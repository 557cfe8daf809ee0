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

#endif
