// SPDX-License-Identifier: MIT
/* test_buf: bytes by position, in pages. */
#include <criterion/criterion.h>

#include "core/buf.h"
#include "core_env.h"

static struct kr_buf b;

static void fill(u8 *p, u32 len)
{
	u32 i;

	for (i = 0; i < len; i++)
		p[i] = i * 7 + i / 256;
}

Test(buf, write_read__across_pages_at_any_position)
{
	u64 pos = (1ull << 40) + KR_PAGE_SIZE - 3;
	u8 in[10000], out[10000];

	kr_buf_init(&b, NULL);
	fill(in, sizeof(in));
	cr_assert_eq(kr_buf_grow(&b, pos, 65536), 0);
	cr_assert_eq(kr_buf_write(&b, pos, in, sizeof(in)), 0);
	kr_buf_read(&b, pos, out, sizeof(out));

	cr_expect(!memcmp(in, out, sizeof(in)));
	cr_expect_eq(kr_buf_nr_pages(&b), 4);
	kr_buf_clean(&b);
	cr_expect_eq(nr_pages, 0);
	cr_expect_eq(nr_blocks, 0);
}

Test(buf, grow__covers_bytes_that_are_not_page_aligned)
{
	kr_buf_init(&b, NULL);
	cr_assert_eq(kr_buf_grow(&b, 1, 16 * KR_PAGE_SIZE), 0);

	cr_expect_eq(b.nr_slots, 32);
	kr_buf_clean(&b);
}

Test(buf, grow__keeps_what_is_held)
{
	u64 pos = 21 * KR_PAGE_SIZE + 5;
	u8 in[60000], out[60000];

	kr_buf_init(&b, NULL);
	fill(in, sizeof(in));
	cr_assert_eq(kr_buf_grow(&b, pos, sizeof(in)), 0);
	cr_assert_eq(kr_buf_write(&b, pos, in, sizeof(in)), 0);
	cr_assert_eq(kr_buf_grow(&b, pos, KR_BUF_BYTES_MAX), 0);
	kr_buf_read(&b, pos, out, sizeof(out));

	cr_expect(!memcmp(in, out, sizeof(in)));
	kr_buf_clean(&b);
	cr_expect_eq(nr_pages, 0);
}

Test(buf, grow__fails_without_memory_and_changes_nothing)
{
	kr_buf_init(&b, NULL);
	is_memory_short = true;

	cr_expect_eq(kr_buf_grow(&b, 0, 1), -ENOMEM);
	cr_expect_null(b.pages);
}

Test(buf, reserve__gives_the_rest_of_the_page)
{
	u32 len;

	kr_buf_init(&b, NULL);
	cr_assert_eq(kr_buf_grow(&b, 0, 1), 0);
	cr_expect_not_null(kr_buf_reserve(&b, 100, &len, true));
	cr_expect_eq(len, KR_PAGE_SIZE - 100);
	is_memory_short = true;
	cr_expect_null(kr_buf_reserve(&b, KR_PAGE_SIZE, &len, true));
	kr_buf_clean(&b);
}

Test(buf, write__fails_without_memory)
{
	kr_buf_init(&b, NULL);
	cr_assert_eq(kr_buf_grow(&b, 0, 1), 0);
	is_memory_short = true;

	cr_expect_eq(kr_buf_write(&b, 0, "x", 1), -ENOMEM);
	kr_buf_clean(&b);
}

Test(buf, free__only_whole_pages)
{
	u8 bytes[3 * KR_PAGE_SIZE] = { 0 };

	kr_buf_init(&b, NULL);
	cr_assert_eq(kr_buf_grow(&b, 0, 65536), 0);
	cr_assert_eq(kr_buf_write(&b, 0, bytes, sizeof(bytes)), 0);
	kr_buf_free(&b, 0, KR_PAGE_SIZE - 1);
	cr_expect_eq(kr_buf_nr_pages(&b), 3);
	kr_buf_free(&b, KR_PAGE_SIZE - 1, 2 * KR_PAGE_SIZE);
	cr_expect_eq(kr_buf_nr_pages(&b), 1);
	kr_buf_free(&b, 2 * KR_PAGE_SIZE, 3 * KR_PAGE_SIZE);
	cr_expect_eq(kr_buf_nr_pages(&b), 0);
	kr_buf_clean(&b);
}
