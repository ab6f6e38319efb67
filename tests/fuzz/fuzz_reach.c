// SPDX-License-Identifier: MIT
/*
 * fuzz_reach: any bytes as the file of a program that krcore-run is to run.  A
 * script names one interpreter; what is neither a script nor ELF is within reach.
 */
#include "fuzz.h"
#include "reach.h"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

static void check_script(const uint8_t *data, size_t len, const char *path)
{
	size_t used = strlen(path);

	check(len > 2 && data[0] == '#' && data[1] == '!');
	check(used && used < 255 && !strpbrk(path, " \t\n"));
	check(memmem(data, len, path, used) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct kr_reach_report report = { .path = "" };
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("program", MFD_CLOEXEC);
	check(ftruncate(fd, 0) == 0 && pwrite(fd, data, len, 0) == (ssize_t)len);
	if (kr_reach_look(&report, fd)) {
		check_script(data, len, report.path);
		return 0;
	}
	check(!report.path[0] && *kr_reach_text(report.reach));
	if (len < sizeof(Elf32_Ehdr) || memcmp(data, ELFMAG, SELFMAG))
		check(report.reach == KR_REACH_YES);
	return 0;
}
