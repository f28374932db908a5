"""The index from modules to tests is what the imports of the tests say, and every module has a test."""

import module_tests


def test_every_module_has_a_test():
    untested = {module for module, (tests, _) in module_tests.index().items() if not tests}
    assert untested == set(module_tests.EXCEPTIONS), "write a test, or give the reason in EXCEPTIONS"


def test_the_page_is_that_of_the_tests():
    written = module_tests.PAGE.read_text(encoding="utf-8")
    assert written == module_tests.page(), f"out of date: run {module_tests.COMMAND}"


def test_every_folder_of_tests_is_described():
    folders = {path.name for path in module_tests.TESTS.iterdir() if any(path.glob("*.py"))}
    assert folders == set(module_tests.CONTENTS)


def test_long_cases_are_of_tests_that_there_are():
    for line in (module_tests.TESTS / "long_cases.txt").read_text(encoding="utf-8").splitlines():
        file, function = line.split()[0].split("::")
        assert f"def {function}(" in (module_tests.TESTS / file).read_text(encoding="utf-8"), line
