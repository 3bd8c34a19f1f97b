"""What is told while a search runs: scikit-learn's callbacks, the user's own, a progress bar."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hoag._core.result import Step
from hoag._core.warn import warn
from hoag.linear_model._compat import HAS_CALLBACKS


class Listeners:
    """Everybody who wants to know about a step; any of them may stop the search.

    estimator   the estimator that is being fitted, for scikit-learn's callbacks
    attributes  step ↦ the fitted attributes as if the search had stopped there
    """

    def __init__(
        self,
        estimator: Any,
        data: dict[str, Any],
        most_steps: int | None,
        attributes: Callable[[Step], dict[str, Any]],
    ) -> None:
        self._estimator, self._data, self._attributes = estimator, data, attributes
        self._context = None
        if HAS_CALLBACKS:
            self._context = estimator._init_callback_context(max_subtasks=most_steps)
            self._context.call_on_fit_task_begin(estimator=estimator, **data)
        self._bar = _progress_bar(estimator) if estimator.verbose else None

    def on_step(self, step: Step, outside: Step) -> bool:
        """`step` in the library's units, `outside` in the user's."""
        stop = False
        if self._bar is not None:
            self._bar.set_postfix_str(f"held-out loss {outside.evaluation.value:.6g}")
            self._bar.update()
        if self._estimator.callback is not None:
            stop |= bool(self._estimator.callback(outside))
        if self._context is not None:
            task = self._context.subcontext(task_name="step")
            task.call_on_fit_task_begin(estimator=self._estimator, **self._data)
            stop |= task.call_on_fit_task_end(
                estimator=self._estimator,
                reconstruction_attributes=lambda: self._attributes(step),
                **self._data,
            )
        return stop

    def finish(self, attributes: dict[str, Any]) -> None:
        if self._context is not None:
            self._context.call_on_fit_task_end(
                estimator=self._estimator,
                reconstruction_attributes=lambda: attributes,
                **self._data,
            )

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


def _progress_bar(estimator: Any) -> Any:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        warn("verbose asks for a progress bar, which needs tqdm: pip install 'hoag[progress]'.")
        return None
    return tqdm(desc=f"{type(estimator).__name__}: tuning", unit=" steps")
