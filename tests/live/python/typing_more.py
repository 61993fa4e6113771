from typing import Any, Callable, Dict, List, NamedTuple, Optional, Union, get_type_hints
class P(NamedTuple):
    x: int
    y: str = "a"
def f(a: int, b: Optional[str] = None) -> List[Dict[str, Any]]: ...
print(P(1), get_type_hints(f), Union[int, str], Callable[[int], str])
