"""Ports of loopback for the tests' own servers: no two workers, and no two calls, are given the same one."""

from tests.ports import free_ports, own_part


def test_no_port_is_given_twice() -> None:
    """The first one may not be served yet when the second one is looked for."""
    ports = [port for _ in range(20) for port in free_ports(3)]
    assert len(set(ports)) == len(ports)


def test_two_workers_choose_from_different_ports() -> None:
    parts = [own_part(32_768, f"gw{number}") for number in range(8)]
    assert len({port for part in parts for port in part}) == sum(map(len, parts))
    assert min(map(len, parts)) > 1000


def test_where_the_kernel_s_own_ports_leave_too_few_it_chooses() -> None:
    assert len(own_part(20_500, "gw1")) == 0
