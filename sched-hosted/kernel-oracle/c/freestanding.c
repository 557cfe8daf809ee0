// SPDX-License-Identifier: GPL-2.0-only
/* What the compiler calls behind our back. The shared object needs no C library. */

typedef unsigned long size_t;

#pragma GCC visibility push(hidden)

void *memset(void *to, int byte, size_t size)
{
	void *start = to;

	__asm__ volatile("rep stosb" : "+D"(to), "+c"(size) : "a"(byte) : "memory");
	return start;
}

void *memcpy(void *to, const void *from, size_t size)
{
	void *start = to;

	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
	return start;
}

void *memmove(void *to, const void *from, size_t size)
{
	char *t = to;
	const char *f = from;

	if (t <= f || t >= f + size)
		return memcpy(to, from, size);
	while (size--) {
		t[size] = f[size];
		__asm__ volatile("" : : : "memory");
	}
	return to;
}

int memcmp(const void *a, const void *b, size_t size)
{
	const unsigned char *x = a, *y = b;

	for (; size; size--, x++, y++) {
		if (*x != *y)
			return *x - *y;
		__asm__ volatile("" : : : "memory");
	}
	return 0;
}
