"""scripts/check_layers finds each planted breach, at its line, and accepts what only looks like one."""

import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def check(root: pathlib.Path) -> subprocess.CompletedProcess:
    return subprocess.run([ROOT / "scripts" / "check_layers", "--root", root], capture_output=True, text=True, check=False)


def plant(root: pathlib.Path, path: str, text: str) -> subprocess.CompletedProcess:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return check(root)


@pytest.mark.parametrize(
    ("path", "text", "line", "rule"),
    [
        ("src/javelin/base/a.cc", '#include <string>\n#include "javelin/store/object_store.h"\n', 2, "layers"),
        ("src/javelin/table/a.h", '#include "javelin/memwal/cursors.h"\n', 1, "layers"),
        ("src/javelin/table/a_test.cc", '#include "javelin/dataset/dataset.h"\n', 1, "layers"),
        ("src/javelin/file/a.cc", '#include "../table/manifest.h"\n', 1, "layers"),
        ("src/javelin/file/a.cc", '#include "javelin/nowhere/a.h"\n', 1, "layers"),
        ("src/javelin/nowhere/a.cc", "int a;\n", 1, "layers"),
        ("src/javelin/table/a.h", '#include "lanceproto/table.pb.h"\n', 1, "headers"),
        ("src/javelin/table/a.h", '#include "javelin/table/a_internal.h"\n', 1, "headers"),
        ("src/javelin/table/a.cc", '#include "javelin/file/a_internal.h"\n', 1, "headers"),
        ("src/javelin/store/a.cc", '#include "javelin/base/simulation_scheduler_internal.h"\n', 1, "headers"),
        ("src/javelin/store/sim_store.cc", '#include "javelin/base/runtime_internal.h"\n', 1, "headers"),
        ("tests/model/a.cc", '#include "javelin/file/a_internal.h"\n', 1, "headers"),
        ("src/javelin/store/a.cc", "#include <thread>\n", 1, "runtime"),
        ("src/javelin/store/a.cc", "#include <arrow/acero/exec_plan.h>\n", 1, "runtime"),
        ("src/javelin/store/a.cc", "/* one\n two */ std::mutex lock;\n", 2, "runtime"),
        ("src/javelin/store/a.cc", "auto f = std :: async(g);\n", 1, "runtime"),
        ("src/javelin/store/a.cc", "ready.wait(false);\n", 1, "runtime"),
        ("src/javelin/store/a.cc", "auto t = std::chrono::steady_clock::now();\n", 1, "runtime"),
        ("src/javelin/store/a.cc", "auto t = time(nullptr);\n", 1, "runtime"),
        ("src/javelin/store/a.cc", "::usleep(3);\n", 1, "runtime"),
        ("src/javelin/store/a.cc", "options.use_threads = true;\n", 1, "runtime"),
        ("src/javelin/store/a.cc", "struct F : public arrow::io::RandomAccessFile {};\n", 1, "runtime"),
        ("src/javelin/store/a.cc", "std::random_device seed;\n", 1, "runtime"),
        ("src/javelin/store/a.cc", "std::mt19937_64 engine;\n", 1, "runtime"),
        ("src/javelin/store/a.cc", "int n = rand();\n", 1, "runtime"),
        ("src/javelin/store/a.cc", "static thread_local int n;\n", 1, "runtime"),
        ("src/javelin/store/a.cc", "std::map<const Node*, int> order;\n", 1, "runtime"),
        ("src/javelin/store/a.cc", "try { f(); } catch (...) {}\n", 1, "runtime"),
        ("src/javelin/store/a.cc", "std::unordered_map<int, int> m;\nfor (auto& [k, v] : m) f(k);\n", 2, "runtime"),
        ("tests/crash/driver.cc", "std::thread worker;\n", 1, "runtime"),
        ("cli/main.cc", "std::this_thread::sleep_for(wait);\n", 1, "runtime"),
    ],
)
def test_planted_breach_is_found(tmp_path, path, text, line, rule):
    result = plant(tmp_path, path, text)
    assert result.returncode == 1
    assert f"{path}:{line}: [{rule}]" in result.stdout


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("src/javelin/memwal/a.h", '#include "javelin/base/error.h"\n#include "javelin/memwal/b.h"\n'),
        ("src/javelin/table/a.cc", '#include "javelin/table/a_internal.h"\n#include "lanceproto/table.pb.h"\n'),
        ("src/javelin/table/a_internal.h", '#include "lanceproto/table.pb.h"\n'),
        ("src/javelin/store/sim_store.cc", '#include "javelin/base/simulation_runtime_internal.h"\n'),
        ("src/javelin/javelin.h", '#include "javelin/memwal/shard_writer.h"\n'),
        ("src/javelin/base/runtime_threads.cc", "#include <thread>\nstd::mutex lock;\n"),
        ("src/javelin/base/simulation.cc", "catch (...) {}\n"),
        ("src/javelin/store/a.cc", "// std::mutex and time(nullptr)\n/* std::thread */ auto s = \"rand()\";\n"),
        ("src/javelin/store/a.cc", 'auto s = R"(std::thread "x" catch (...))";\nint64_t n = 1\'000\'000;\n'),
        ("src/javelin/store/a.cc", "std::lock_guard lock(mutex_); runtime.Sleep(d); event.Wait(deadline);\n"),
        ("src/javelin/store/a.cc", "auto t = store.time(); std::chrono::milliseconds d(3); int operand(int);\n"),
        ("src/javelin/store/a.cc", "std::mt19937_64 engine(runtime.Random());\n"),
        ("src/javelin/store/a.cc",
         "std::unordered_set<int> m;\nfor (int k : m) n += k;  // order-free: a sum\nfor (int k : sorted) f(k);\n"),
        ("cli/main.cc", '#include "javelin/memwal/shard_writer.h"\n'),
    ],
)
def test_innocent_code_passes(tmp_path, path, text):
    result = plant(tmp_path, path, text)
    assert (result.returncode, result.stdout) == (0, "check_layers: 1 files, 0 breaches\n")


def test_an_empty_tree_is_no_proof(tmp_path):
    assert check(tmp_path).returncode == 1
