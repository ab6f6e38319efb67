// SPDX-License-Identifier: MIT
/*
 * reach: read a program's file and say whether LD_PRELOAD can work in it.
 *
 * Follows #! lines to the interpreter, then reads the ELF header, the program
 * headers and the notes, and the file's privileges.  Files are not trusted:
 * every offset and length is checked.  A file that cannot be read or is not
 * ELF counts as within reach: the kernel or /bin/sh will judge it.
 */
#include "reach.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

enum {
	SCRIPT_DEPTH_MAX = 5,	/* the kernel's own bound */
	SCRIPT_LINE_MAX = 256,	/* likewise */
	PHDR_MAX = 128,
	NOTES_LEN_MAX = 65536,
	GO_BUILD_ID = 4,	/* type of the note "Go" */
};

static bool read_at(int fd, void *buf, size_t len, off_t offset)
{
	return pread(fd, buf, len, offset) == (ssize_t)len;
}

/* The machine that we run on is the one that this program was built for. */
static bool is_foreign(const Elf64_Ehdr *elf)
{
	bool foreign = false;
	Elf64_Ehdr self;
	int fd;

	fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (read_at(fd, &self, sizeof(self), 0))
		foreign = elf->e_ident[EI_CLASS] != self.e_ident[EI_CLASS] ||
			  elf->e_ident[EI_DATA] != self.e_ident[EI_DATA] ||
			  elf->e_machine != self.e_machine;
	close(fd);
	return foreign;
}

static size_t pad4(size_t len)
{
	return (len + 3) & ~(size_t)3;
}

static bool has_go_note(const unsigned char *notes, size_t len)
{
	size_t at = 0;
	Elf64_Nhdr note;

	while (at + sizeof(note) + 4 <= len) {
		memcpy(&note, notes + at, sizeof(note));
		at += sizeof(note);
		if (note.n_namesz == 4 && note.n_type == GO_BUILD_ID &&
		    memcmp(notes + at, "Go\0", 4) == 0)
			return true;
		if (note.n_namesz > len || note.n_descsz > len)
			return false;
		at += pad4(note.n_namesz) + pad4(note.n_descsz);
	}
	return false;
}

static bool is_go_segment(int fd, const Elf64_Phdr *phdr)
{
	size_t len = phdr->p_filesz;
	unsigned char *notes;
	bool is_go;

	if (phdr->p_type != PT_NOTE || len == 0 || len > NOTES_LEN_MAX)
		return false;
	notes = malloc(len);
	if (!notes)
		return false;
	is_go = read_at(fd, notes, len, (off_t)phdr->p_offset) &&
		has_go_note(notes, len);
	free(notes);
	return is_go;
}

static enum kr_reach check_segments(int fd, const Elf64_Ehdr *elf)
{
	bool has_interp = false;
	bool is_go = false;
	Elf64_Phdr phdr;

	for (unsigned int i = 0; i < elf->e_phnum && i < PHDR_MAX; i++) {
		if (!read_at(fd, &phdr, sizeof(phdr),
			     (off_t)(elf->e_phoff + i * sizeof(phdr))))
			break;
		has_interp = has_interp || phdr.p_type == PT_INTERP;
		is_go = is_go || is_go_segment(fd, &phdr);
	}
	if (is_go)
		return KR_REACH_GO;
	return has_interp ? KR_REACH_YES : KR_REACH_STATIC;
}

/* The loader drops LD_PRELOAD where exec changes who we are. */
static enum kr_reach check_privileges(int fd)
{
	struct statvfs fs;
	struct stat st;

	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ||
	    (fstatvfs(fd, &fs) == 0 && (fs.f_flag & ST_NOSUID)) ||
	    fstat(fd, &st) < 0)
		return KR_REACH_YES;
	if ((st.st_mode & S_ISUID) && st.st_uid != getuid())
		return KR_REACH_SETID;
	if ((st.st_mode & S_ISGID) && (st.st_mode & S_IXGRP) &&
	    st.st_gid != getgid())
		return KR_REACH_SETID;
	if (getuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0)
		return KR_REACH_CAPS;
	return KR_REACH_YES;
}

static enum kr_reach check_elf(int fd)
{
	enum kr_reach reach;
	Elf64_Ehdr elf;

	if (!read_at(fd, &elf, sizeof(elf), 0)) {
		memset(&elf, 0, sizeof(elf));
		if (!read_at(fd, &elf, sizeof(Elf32_Ehdr), 0))
			return KR_REACH_YES;
	}
	if (memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0)
		return KR_REACH_YES;
	if (is_foreign(&elf))
		return KR_REACH_FOREIGN;
	reach = check_segments(fd, &elf);
	return reach != KR_REACH_YES ? reach : check_privileges(fd);
}

/* Puts a script's interpreter into @path; false if the file is no script. */
static bool find_interpreter(int fd, char *path, size_t room)
{
	char line[SCRIPT_LINE_MAX + 1];
	ssize_t len = pread(fd, line, SCRIPT_LINE_MAX, 0);
	char *start;

	if (len < 2 || line[0] != '#' || line[1] != '!')
		return false;
	line[len] = '\0';
	line[strcspn(line, "\n")] = '\0';
	start = line + 2 + strspn(line + 2, " \t");
	start[strcspn(start, " \t")] = '\0';
	if (!*start || strlen(start) >= room)
		return false;
	strcpy(path, start);
	return true;
}

/**
 * kr_reach_look() - look at one file
 * @report: filled in; its path becomes the interpreter of a script
 * @fd: the file
 *
 * Return: whether it is a script, whose interpreter is to be looked at.
 */
bool kr_reach_look(struct kr_reach_report *report, int fd)
{
	report->reach = KR_REACH_YES;
	if (find_interpreter(fd, report->path, sizeof(report->path)))
		return true;
	report->reach = check_elf(fd);
	return false;
}

/**
 * kr_reach_check() - say whether LD_PRELOAD can work in a program
 * @report: filled in
 * @path: the program's file
 *
 * Return: 0; -ENOENT if a script's interpreter is missing; -ENAMETOOLONG.
 */
int kr_reach_check(struct kr_reach_report *report, const char *path)
{
	bool is_script = true;
	int fd;

	report->reach = KR_REACH_YES;
	if (strlen(path) >= sizeof(report->path))
		return -ENAMETOOLONG;
	strcpy(report->path, path);
	for (int depth = 0; is_script && depth <= SCRIPT_DEPTH_MAX; depth++) {
		/* Nobody may come to the other end of a FIFO. */
		fd = open(report->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (fd < 0)
			return errno == ENOENT ? -ENOENT : 0;
		is_script = kr_reach_look(report, fd);
		close(fd);
	}
	return 0;
}

/**
 * kr_reach_text() - say in words why a program is out of reach
 * @reach: the finding
 *
 * Return: the end of a sentence that starts with the program's name.
 */
const char *kr_reach_text(enum kr_reach reach)
{
	switch (reach) {
	case KR_REACH_YES:
		return "is within reach";
	case KR_REACH_STATIC:
		return "is statically linked: nothing can be preloaded into it";
	case KR_REACH_GO:
		return "is a Go program: its system calls bypass the C library";
	case KR_REACH_FOREIGN:
		return "is a 32-bit program or one for another machine";
	case KR_REACH_SETID:
		return "is set-user-id or set-group-id: LD_PRELOAD is ignored";
	case KR_REACH_CAPS:
		return "has file capabilities: LD_PRELOAD is ignored";
	}
	return "";
}
