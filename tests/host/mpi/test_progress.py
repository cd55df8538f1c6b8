"""Progress: when the device's fast path may be used beside services and tasks."""

import pytest

from lanai_host.mpi.progress import NEVER, Progress
from lanai_host.operation import Operation
from lanai_host.stacks.ideal.device import IdealDevice, Solo


class Listener:
    """A service that listens for one operation after the other."""

    def __init__(self) -> None:
        self.request = Operation()
        self.taken = 0
        self.stopped = False

    def advance(self):
        if self.request.done:
            self.request = Operation()
            self.taken += 1
        return False

    def operations(self):
        return [self.request]

    def stop(self):
        self.stopped = True


class Chore:
    """A task that ends when it is told to."""

    ended = False

    def advance(self):
        return self.ended

    def operations(self):
        return []


@pytest.fixture
def progress():
    return Progress(IdealDevice(0, 1, Solo()))


def test_a_process_without_services_is_alone(progress):
    assert progress.alone()
    assert not NEVER.done


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("which", [0, -1])
def test_a_request_is_seen_until_its_service_has_taken_it(progress, count, which):
    services = [Listener() for _ in range(count)]
    for service in services:
        progress.serve(service)
        assert progress.alone()
    for turn in range(3):
        services[which].request.done = True
        assert not progress.alone()
        progress.poll()
        assert progress.alone()
        assert [service.taken for service in services if service is not services[which]] == [0] * (count - 1)
        assert services[which].taken == turn + 1


def test_a_task_is_seen_until_it_ends(progress):
    chore = Chore()
    progress.start(chore)
    assert not progress.alone()
    chore.ended = True
    progress.poll()
    assert progress.alone()


def test_stopped_services_are_not_asked_any_more(progress):
    service = Listener()
    progress.serve(service)
    progress.stop_services()
    service.request.done = True
    assert service.stopped
    assert progress.alone()
