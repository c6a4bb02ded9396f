"""Each test runs in a process of its own: what counts is what arrives in its pipe."""

import subprocess
import sys
import textwrap

import pytest

CODE = """
import ctypes, threading
import numpy as np
from ubayfs.optimize.solver import solver_output_held_back
library = ctypes.CDLL(None)
stray = b"HighsMipSolverData::transformNewIntegerFeasibleSolution tmpSolver.run();\\n"
"""


def printed(code):
    done = subprocess.run(
        [sys.executable, "-c", CODE + textwrap.dedent(code)], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return done.stdout


pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the C library is called by name")


def test_lines_of_the_solver_are_left_out_and_all_others_arrive_in_their_order():
    output = printed("""
        library.printf(b"before\\n")
        with solver_output_held_back:
            library.printf(stray)
            library.printf(b"%s\\n", b"another library")
            library.puts(stray.strip())
        library.printf(b"after\\n")
        with solver_output_held_back:
            library.printf(b"again\\n")
    """)
    assert output.splitlines() == ["before", "another library", "after", "again"]


def test_what_python_prints_meanwhile_is_not_held_back():
    output = printed("""
        with solver_output_held_back:
            thread = threading.Thread(target=print, args=("python",), kwargs={"flush": True})
            thread.start()
            thread.join()
            library.printf(b"late\\n")
            print("more", flush=True)
        library.fflush(None)
    """)
    assert output.splitlines() == ["python", "more", "late"]


def test_it_ends_with_the_last_of_several_threads_and_after_errors():
    output = printed("""
        inside, leave = threading.Barrier(3), threading.Barrier(3)

        def work():
            with solver_output_held_back:
                inside.wait()
                library.printf(stray)
                leave.wait()

        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        inside.wait()
        library.printf(b"meanwhile\\n")
        leave.wait()
        for thread in threads:
            thread.join()
        try:
            with solver_output_held_back:
                raise ValueError
        except ValueError:
            library.printf(b"afterwards\\n")
    """)
    assert output.splitlines() == ["meanwhile", "afterwards"]


def test_a_forked_process_has_its_output():
    output = printed("""
        import os
        with solver_output_held_back:
            child = os.fork()
            if child == 0:
                library.printf(b"child\\n")
                library.fflush(None)
                os._exit(0)
            os.waitpid(child, 0)
    """)
    assert output.splitlines() == ["child"]


def test_nothing_is_printed_where_the_solver_repairs_its_solutions():
    output = printed("""
        import ubayfs
        for seed in (2, 33, 44):
            costs = np.random.default_rng(seed).random(15)
            ubayfs.maximize(costs / costs.sum(), ubayfs.cost_budget(costs, costs.sum() / 3, rho=np.inf))
    """)
    assert output == ""
