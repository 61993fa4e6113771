# A thin front for meson and ninja. "make help" tells what there is.
BUILD    ?= build
PREFIX   ?= /usr/local
DESTDIR  ?=
ARGS     ?=
FUZZ_SECONDS ?= 30
export DESTDIR

# meson sees new files and folders only when it is asked again: the folders themselves are what build.ninja depends on.
TREE := meson.build meson_options.txt $(wildcard src src/* tests/unit tests/api tests/fault tests/fuzz tests/probe docs/man examples)

all: ## build the tool, the keeper and the libraries into build/ (the default)
	@tools/setup build
	@$(MAKE) -s --no-print-directory $(BUILD)/build.ninja
	@ninja -C $(BUILD)

run: all ## build, then show what cordon does
	@tools/demo

test: all ## build, then run all short tests (ARGS="-v seccomp" passes options and words to tools/test)
	@tools/setup test
	@tools/test-guest --prepare $(BUILD)
	@tools/test --build $(BUILD) $(ARGS)

test-cgroup2: all ## the tests with control groups of version 2 only, in a QEMU guest (a part of make test)
	@tools/setup test
	@tools/test-guest $(BUILD)

soak: all ## the long forms of the tests, and twenty minutes of each fuzz target
	@tools/setup test
	@CORDON_SOAK=1 tools/test --build $(BUILD) --timeout 7200 $(ARGS)
	@$(MAKE) -s --no-print-directory fuzz FUZZ_SECONDS=1200

bench: all ## measure against a plain spawn and against peers
	@tools/setup bench
	@bench/run $(ARGS)

check: all ## static checks: two compilers, clang-tidy, cppcheck, gcc -fanalyzer, the ABI, format, layering, …; the unit tests on aarch64
	@tools/setup check cross
	@$(MAKE) -s --no-print-directory build-clang/build.ninja build-aarch64/build.ninja
	@tools/check $(ARGS)

asan: ## the tests with AddressSanitizer and UndefinedBehaviorSanitizer
	@tools/setup build test
	@$(MAKE) -s --no-print-directory build-asan/build.ninja
	@ninja -C build-asan
	@tools/test --build build-asan $(ARGS)

fuzz: ## fuzz every decoder for FUZZ_SECONDS (30) each
	@tools/setup build check
	@$(MAKE) -s --no-print-directory build-fuzz/build.ninja
	@ninja -C build-fuzz
	@tools/fuzz $(FUZZ_SECONDS) $(ARGS)

install: ## install below DESTDIR with PREFIX (/usr/local)
	@tools/setup build
	@$(MAKE) -s --no-print-directory $(BUILD)/build.ninja
	@meson configure $(BUILD) --prefix=$(PREFIX)
	@ninja -C $(BUILD)
	@meson install -C $(BUILD) --no-rebuild

format: ## rewrite the sources as .clang-format says
	@git ls-files '*.c' '*.h' | xargs clang-format -i

clean: ## remove the build folders
	@rm -rf $(BUILD) build-clang build-asan build-fuzz build-aarch64

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' Makefile

.PHONY: all run test test-cgroup2 soak bench check asan fuzz install format clean help

$(BUILD)/build.ninja:     SETUP =
build-clang/build.ninja:  SETUP = CC=clang
build-aarch64/build.ninja: SETUP =
build-aarch64/build.ninja: FLAGS = --cross-file tools/aarch64.ini -Dpython=disabled
# What a sanitizer finds ends the program: a complaint that nobody reads is none.
build-asan/build.ninja:   SETUP =
build-asan/build.ninja:   FLAGS = -Db_sanitize=address,undefined -Db_lundef=false -Dc_args=-fno-sanitize-recover=all
build-fuzz/build.ninja:   SETUP = CC=clang
build-fuzz/build.ninja:   FLAGS = -Db_sanitize=address,undefined -Db_lundef=false -Dc_args=-fno-sanitize-recover=all -Dfuzz=true
%/build.ninja: $(TREE)
	@mkdir -p $(@D)
	@$(SETUP) meson setup $(if $(wildcard $@),--reconfigure) $(@D) $(FLAGS) >$(@D)/setup.log || { cat $(@D)/setup.log; exit 1; }
	@touch $@
