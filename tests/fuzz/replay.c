/* Run a fuzz target once over every file of the folders named, without libFuzzer: the corpus as a regression test. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/scope.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(const char *folder)
{
	DIR *dir = opendir(folder);
	if (!dir)
		return -1;
	int count = 0;
	for (struct dirent *entry; (entry = readdir(dir));) {
		if (entry->d_name[0] == '.')
			continue;
		char path[4096];
		snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
		autoclean(buf_done) struct buf bytes = BUF_MAX(16 << 20);
		if (fd_read_file(path, &bytes) < 0)
			continue;
		LLVMFuzzerTestOneInput((const uint8_t *)buf_text(&bytes), bytes.size);
		count++;
	}
	closedir(dir);
	return count;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		int count = replay(argv[i]);
		printf("%s: %d inputs\n", argv[i], count);
		if (count <= 0)
			return 1; /* a corpus that is not there tests nothing */
	}
	return argc < 2;
}
