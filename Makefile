# SPDX-License-Identifier: GPL-3.0-or-later
#
# muxbed's build: one page, nothing recursive but the choice of a flavour. `make help` lists it.
#
#   BUILD=dir   build elsewhere          FLAVOUR=san   ASan + UBSan, in build/san
#   DIRS="a b"  only these folders       ERR=1         warnings are errors
#   V=1         show the commands        JOBS=n        how many at once

BUILD   ?= build
# One name for one folder: what objects depend on is recorded by their names.
override BUILD := $(patsubst $(CURDIR)/%,%,$(BUILD))
FLAVOUR ?= plain
DIRS    ?= agents testbed analysis
JOBS    ?= $(shell nproc)
ERR     ?=
V       ?=
OPT     ?= -O2 -g
FUZZ_SECONDS ?= 20

ifneq ($(filter default undefined,$(origin CC)),)
CC := gcc
endif
O := $(BUILD)/$(FLAVOUR)
# Programs people start lie directly in build/; those of another flavour in its folder.
BIN := $(if $(filter plain,$(FLAVOUR)),$(BUILD),$(O))

ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(JOBS) --output-sync=target --no-print-directory
endif
MAKEFLAGS += -rR
Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-5s %s\n' $(1) $(2);)

# ---- flags ----

WARN := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes \
	-Wold-style-definition -Wpointer-arith -Wcast-align -Wwrite-strings -Wformat=2 -Wundef -Wvla
SAN_san  := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
SAN_fuzz := $(SAN_san) -fsanitize=fuzzer-no-link
SAN_cov  := -fprofile-instr-generate -fcoverage-mapping -fsanitize=fuzzer-no-link
SAN      := $(SAN_$(FLAVOUR))
# Whatever is built for coverage writes what it has counted when it ends: not into the tree.
ifeq ($(FLAVOUR),cov)
export LLVM_PROFILE_FILE := $(abspath $(O))/%m.profraw
endif

CFLAGS   ?=
LDFLAGS  ?=
CPPFLAGS ?=
ALL_CPPFLAGS := -D_GNU_SOURCE -I. $(CPPFLAGS)
ALL_CFLAGS   := -std=gnu11 $(OPT) $(WARN) $(SAN) $(CFLAGS)
# Changes no object, so it is none of the flags that objects are made anew for: with ERR=1 what was
# built before, and warned then, stays. Only a build from nothing proves that there is no warning.
# (What is no C at all, like a function nobody has declared, is never a mere warning.)
WERROR       := $(if $(ERR),-Werror,$(addprefix -Werror=,implicit-function-declaration int-conversion \
	incompatible-pointer-types))
ALL_LDFLAGS  := $(SAN) -Wl,--as-needed $(LDFLAGS)

# wolfSSL and ngtcp2, built once per machine (scripts/deps.sh).
PREFIX := $(shell scripts/deps.sh --prefix)
DEPS   := $(PREFIX)/DONE
DEPS_A := $(addprefix $(PREFIX)/lib/,libngtcp2_crypto_wolfssl.a libngtcp2.a libwolfssl.a)
QUIC_CPPFLAGS  := -DWOLFSSL_USER_SETTINGS -DNGTCP2_STATICLIB -isystem $(PREFIX)/include
WOLFSSL_ROOMS  := agents/tls/% agents/quic/% agents/webrtc/%
# Only files named *_internals.c may look inside ngtcp2; config.h there makes layouts agree.
INNER_CPPFLAGS := -DHAVE_CONFIG_H -isystem $(PREFIX)/include/ngtcp2-private
NL_CPPFLAGS     = $(shell pkg-config --cflags-only-I libnl-3.0 libnl-route-3.0 | sed 's/-I/-isystem /g')

# ---- what is there: the name of a source says what it becomes ----

SRC := $(sort $(foreach d,$(DIRS),$(wildcard $(d)/*.c $(d)/*/*.c $(d)/*/*/*.c)))

TEST_SRC   := $(filter %_test.c,$(SRC))
NSTEST_SRC := $(filter %_nstest.c,$(SRC))
FUZZ_SRC   := $(filter %_fuzz.c,$(SRC))
BENCH_SRC  := $(filter %_bench.c,$(SRC))
MAIN_SRC   := $(filter %_main.c,$(SRC))
# What is loaded before a test program (testbed/faults), and so part of no other.
LOAD_SRC   := $(filter-out %_test.c,$(filter testbed/faults/%,$(SRC)))
LIB_SRC    := $(filter-out $(TEST_SRC) $(NSTEST_SRC) $(FUZZ_SRC) $(BENCH_SRC) $(MAIN_SRC) \
	$(LOAD_SRC),$(SRC))

TESTS   := $(TEST_SRC:%.c=$(O)/%)
NSTESTS := $(NSTEST_SRC:%.c=$(O)/%)
FUZZERS := $(FUZZ_SRC:%.c=$(O)/%)
BENCHES := $(BENCH_SRC:%.c=$(O)/%)
OOM_TESTS := $(filter %_oom_test,$(TESTS))
# The others are tried from outside; not those about other programs.
OOM_IN    ?= agents testbed analysis
OOM_TRIED := $(foreach d,$(OOM_IN),$(filter $(O)/$(d)/% $(O)/$(d)%_test,\
	$(filter-out $(OOM_TESTS) $(addprefix $(O)/,testbed/interop/% testbed/faults/% agents/hostile_test),\
	$(TESTS))))
OOM_LIB   := $(O)/testbed/faults/oom.so

# agents/agent_main.c is build/agent, and so on; only testbed's takes the product's name.
program  = $(BIN)/$(patsubst testbed,muxbed,$(patsubst %_main.c,%,$(notdir $(1))))
PROGRAMS := $(foreach m,$(MAIN_SRC),$(call program,$(m)))

all: $(PROGRAMS) $(foreach t,agents testbed analysis,$(O)/lib$(t).a)

# ---- archives ----

# record FILE,WORDS: keeps WORDS in FILE, rewriting it only when they change, so that a changed
# list of sources or flags rebuilds what depends on it.
define record
ifneq ($$(wildcard $(1)) $$(strip $$(file <$(1))),$(1) $$(strip $(2)))
$$(shell mkdir -p $(dir $(1)))
$$(file >$(1),$$(strip $(2)))
endif
endef

BUILDING := $(filter-out clean help lint format deps,$(or $(MAKECMDGOALS),all))
define archive
LIB_$(1) := $(O)/lib$(1).a
OBJ_$(1) := $(patsubst %.c,$(O)/%.o,$(filter $(1)/%,$(LIB_SRC)))
$(if $(BUILDING),$(call record,$(O)/lib$(1).list,$$(OBJ_$(1))))
$(O)/lib$(1).a: $$(OBJ_$(1)) $(O)/lib$(1).list
	$(call say,AR,$$@) rm -f $$@ && ar rcs $$@ $$(OBJ_$(1))
endef
$(foreach t,agents testbed analysis,$(eval $(call archive,$(t))))
$(if $(BUILDING),$(eval $(call record,$(O)/flags,$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(PREFIX))))

# ---- objects ----

ROOM_CPPFLAGS = $(if $(filter $(WOLFSSL_ROOMS),$<),$(QUIC_CPPFLAGS)) \
	$(if $(filter agents/quic/%,$<),$(if $(filter %_internals.c,$<),$(INNER_CPPFLAGS))) \
	$(if $(filter testbed/netns/%,$<),$(NL_CPPFLAGS))

$(O)/%.o: %.c $(O)/flags
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) $(ALL_CPPFLAGS) $(ROOM_CPPFLAGS) $(ALL_CFLAGS) $(WERROR) -MMD -MP -c $< -o $@

$(patsubst %.c,$(O)/%.o,$(filter $(WOLFSSL_ROOMS),$(SRC))): $(DEPS)

# What a manifest says of the build: its commit, and the library that does not tell its version.
COMMIT := $(or $(shell GIT_OPTIONAL_LOCKS=0 git describe --always --dirty --abbrev=12 2>/dev/null),unknown)
$(if $(BUILDING),$(eval $(call record,$(O)/commit,$(COMMIT))))
$(O)/testbed/run/versions.o: ALL_CPPFLAGS += -DMUXBED_COMMIT='"$(COMMIT)"'
$(O)/testbed/run/versions.o: $(O)/commit
$(O)/agents/webrtc/webrtc_version.o: \
	ALL_CPPFLAGS += -DUSRSCTP_VERSION='"$(or $(shell pkg-config --modversion usrsctp 2>/dev/null),unknown)"'

$(DEPS):
	@echo '  DEPS  wolfSSL and ngtcp2 (once per machine, about a minute)'
	$(Q)scripts/deps.sh >/dev/null

# ---- programs and tests ----

# The agents change ngtcp2 and usrsctp by wrapping some of their functions; every wrapper found in
# the agents' sources is switched on here, for whatever links them.
WRAPPED = $(patsubst __wrap_%,-Wl$(comma)--wrap=%,$(sort $(shell \
	grep -oh '__wrap_[A-Za-z0-9_]*' $(wildcard agents/quic/*.c agents/webrtc/*.c) /dev/null)))
comma := ,

# usrsctp as an archive, since only then its functions can be wrapped; and in a copy whose memory
# comes from agents/webrtc/webrtc_sctp_mem.c, since it cannot do without.
USRSCTP := $(O)/libusrsctp.a
$(USRSCTP):
	@mkdir -p $(@D)
	$(call say,COPY,$@) objcopy $(foreach f,malloc calloc free,--redefine-sym $(f)=webrtc_sctp_mem_$(f)) \
		$$(pkg-config --variable=libdir usrsctp)/libusrsctp.a $@
WEBRTC_LIBS := $(USRSCTP) -lsrtp2

SYS_LIBS  := -lfyaml -ljansson -lgsl -lgslcblas -lsqlite3 -lnl-route-3 -lnl-3 -lpcap -lxxhash -lcurl -lm
LINK_stacks = $(WRAPPED) -Wl,--start-group $(1) $(DEPS_A) -Wl,--end-group $(WEBRTC_LIBS) $(SYS_LIBS)
LINK_agents   = $(call LINK_stacks,$(LIB_agents))
LINK_testbed  = $(call LINK_stacks,$(LIB_testbed) $(LIB_agents))
LINK_analysis = $(LIB_analysis) $(LIB_agents) $(SYS_LIBS)
NEED_agents   := $(LIB_agents) $(DEPS) $(USRSCTP)
NEED_testbed  := $(LIB_testbed) $(LIB_agents) $(DEPS) $(USRSCTP)
NEED_analysis := $(LIB_analysis) $(LIB_agents)

# Tests named *_oom_test.c refuse allocations (agents/base/oom_test.h): ours and those of the
# libraries linked as archives.
OOM_WRAP := $(patsubst %,-Wl$(comma)--wrap=%,malloc calloc realloc strdup strndup free)

# link TARGET,SOURCE,LIBS,FLAGS: the tree a source lies in says what it is linked with.
define link
$(1): $(patsubst %.c,$(O)/%.o,$(2)) $$(NEED_$(firstword $(subst /, ,$(2))))
	$(call say,LD,$$@) $(CC) $(ALL_LDFLAGS) $(4) $$< $$(LINK_$(firstword $(subst /, ,$(2)))) $(3) -o $$@
endef
$(foreach m,$(MAIN_SRC),$(eval $(call link,$(call program,$(m)),$(m),)))
$(foreach t,$(TEST_SRC) $(NSTEST_SRC) $(BENCH_SRC),$(eval $(call link,$(t:%.c=$(O)/%),$(t),-lcmocka,\
	$(if $(filter %_oom_test.c,$(t)),$(OOM_WRAP)))))
$(foreach t,$(FUZZ_SRC),$(eval $(call link,$(t:%.c=$(O)/%),$(t),-fsanitize=fuzzer)))

$(OOM_LIB): $(LOAD_SRC) $(wildcard testbed/faults/*.h)
	@mkdir -p $(@D)
	$(call say,LD,$@) $(CC) $(ALL_CPPFLAGS) -std=gnu11 -O2 -g -fno-omit-frame-pointer $(WARN) \
		$(WERROR) -fPIC -shared $(LOAD_SRC) -o $@

$(O)/testbed/faults/oom_test: | $(OOM_LIB)

# A peer of the agent in Go, where Debian's packages for it are installed (testbed/interop).
GOCODE := /usr/share/gocode
GO     := $(shell command -v go)
PEERS  := $(if $(GO),\
	$(if $(wildcard $(GOCODE)/src/github.com/lucas-clemente/quic-go),$(O)/quicgo) \
	$(if $(wildcard $(GOCODE)/src/github.com/pion/webrtc),$(O)/pion))
$(O)/quicgo $(O)/pion: $(O)/%: testbed/interop/%/main.go
	@mkdir -p $(@D)
	$(call say,GO,$@) GO111MODULE=off GOPATH=$(GOCODE) GOCACHE=$(abspath $(O))/go-cache GOFLAGS= \
		CGO_ENABLED=0 $(GO) build -o $@ $<

.SECONDARY:
.DELETE_ON_ERROR:
-include $(wildcard $(SRC:%.c=$(O)/%.d))

# ---- goals ----

.PHONY: all tests programs test unit nstest san smoke bench fuzz lint format clean help deps packages \
	oom oom-short oom-all oom-tests test-browser test-kill test-netem fuzzers fuzz-coverage fuzz-coverage-report

packages:
	@scripts/install-packages.sh test

deps: $(DEPS)
	@:

tests: $(TESTS) $(NSTESTS) $(PEERS)
	@:

# Objects for lint's look into them, also of what goes into a library of its own; besides what an
# editor's "build" wants: everything, nothing run.
programs: all tests $(BENCHES) $(LOAD_SRC:%.c=$(O)/%.o)
	@:

test: packages
	@$(MAKE) all tests
	@scripts/run-tests.sh --unit $(TESTS) --ns $(NSTESTS)

unit: all $(TESTS) $(PEERS)
	@scripts/run-tests.sh --unit $(TESTS)

# All unit tests with their allocations failing one by one (testbed/faults), then the tests that
# refuse allocations by themselves; sanitizers see what either leaves behind. oom-short is for the
# gate: what of the first fits into a second per program, in rooms whose tests know no real time.
oom:
	@$(MAKE) FLAVOUR=san oom-all oom-tests
OOM_SHORT_IN := $(addprefix agents/,base record rtp media cc quic) analysis/ingest
oom-short:
	@OOM_SECONDS=1 $(MAKE) FLAVOUR=san OOM_IN="$(OOM_SHORT_IN)" oom-all
oom-all: all $(OOM_LIB) $(OOM_TRIED)
	@scripts/run-oom.sh $(OOM_LIB) $(sort $(OOM_TRIED))
oom-tests: $(OOM_TESTS) | oom-all
	@scripts/run-tests.sh --unit $(OOM_TESTS)

# Foreign WebRTC peers, a browser among them (testbed/interop/README.md).
test-browser: all $(O)/testbed/interop/wrtc_test
	@TEST_BROWSER=1 scripts/run-tests.sh --unit $(O)/testbed/interop/wrtc_test

# Sweeps whose processes are killed KILLS times, in virtual and in real time (root).
KILLS ?= 100
test-kill: all $(O)/testbed/cmd/sweep_test $(O)/testbed/cmd/sweep_nstest
	@KILLS=$(KILLS) scripts/run-tests.sh --unit $(O)/testbed/cmd/sweep_test \
		--ns $(O)/testbed/cmd/sweep_nstest

nstest: all $(NSTESTS)
	@scripts/run-tests.sh --ns $(NSTESTS)

# On the netem of a kernel of our own, whatever this host's has.
NETEM_TESTS := $(filter $(O)/testbed/netns/% $(O)/testbed/run/run_netem_nstest,$(NSTESTS))
test-netem: all $(NETEM_TESTS)
	@scripts/test-netem.sh $(NETEM_TESTS)

san:
	@$(MAKE) FLAVOUR=san test

# Real time, some minutes: the kinds of link compared (scenarios/links).
.PHONY: test-links
test-links: all
	@scripts/test-links.sh $(BIN)

smoke: all
	@scripts/smoke.sh $(BIN)

bench: all $(BENCHES)
	@scripts/bench.sh $(BENCHES)

# Needs clang. Each fuzzer runs for FUZZ_SECONDS on the corpus beside it, if there is one.
fuzz:
	@$(MAKE) FLAVOUR=fuzz CC=clang fuzzers
fuzzers: $(FUZZERS)
	@scripts/run-fuzzers.sh $(FUZZ_SECONDS) $(FUZZERS)

# Needs clang. How many lines of each parser its fuzzer's kept inputs reach.
fuzz-coverage:
	@$(MAKE) FLAVOUR=cov CC=clang fuzz-coverage-report
fuzz-coverage-report: $(FUZZERS)
	@scripts/fuzz-coverage.sh $(FUZZERS)

lint:
	@$(MAKE) programs
	@scripts/lint.sh $(O)

format:
	@find agents testbed analysis scripts -name '*.[ch]' -print0 | xargs -0 -r clang-format -i

clean:
	$(Q)rm -rf $(BUILD)

help:
	@echo 'all       build/muxbed, build/agent, build/player, build/analyze (default)'
	@echo 'test      install what is missing, build, run unit and namespace tests (root)'
	@echo 'unit      unit tests only; no privileges'
	@echo 'nstest    namespace tests only'
	@echo 'test-netem  namespace tests on netem, in user-mode Linux, which it installs (root)'
	@echo 'san       the same tests under ASan and UBSan'
	@echo 'test-browser  calls with foreign WebRTC stacks, a browser among them (chromium, node, npm)'
	@echo 'test-kill     sweeps killed KILLS=$(KILLS) times at moments spread over them (root)'
	@echo 'test-links    whether real links agree with the simulated one; half an hour (root)'
	@echo 'smoke     some seconds of virtual time that show that it works; no privileges, no network'
	@echo 'bench     benchmarks, and the simulator'"'"'s speed'
	@echo 'fuzz      run every fuzzer for FUZZ_SECONDS=$(FUZZ_SECONDS) (clang)'
	@echo 'fuzz-coverage  lines of the parsers that the fuzzers'"'"' kept inputs reach (clang)'
	@echo 'oom       all unit tests with every allocation failing once, under ASan and UBSan;'
	@echo '          OOM_IN="agents/quic analysis" only these, OOM_SECONDS=60 per program, OOM_ALL=1'
	@echo 'lint      layers, purity, symbols nobody uses, sizes, format, licence lines, pages and their links, shell scripts'
	@echo 'format    rewrite the C files in the house style'
	@echo 'deps      build wolfSSL and ngtcp2 into the cache'
	@echo 'clean     remove build/'
	@echo
	@sed -n '5,7s/^# *//p' Makefile
