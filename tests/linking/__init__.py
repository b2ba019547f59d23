import pytest

pytest.register_assert_rewrite("tests.linking.world_builder")
